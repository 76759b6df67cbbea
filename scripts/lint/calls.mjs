// Calls and constructs that are banned, each outside the place that owns it.
import { codeOnly, cppFiles, isCpp, isTest, offence } from './tree.mjs';

const inFolder = (folder) => (path) => path.startsWith(`src/${folder}/`);
const nowhere = () => false;
const kSleepSecondsMax = 1;

/// `pattern` is looked for in each line of code (comments and literals blanked); `allowed` says
/// which files may have it; `reason` says what to do instead.
export const kBanned = [
  {
    name: 'raw file call',
    pattern: /(?<![\w>])::(open(at)?|creat|fsync|fdatasync|rename(at2?)?|link(at)?)\s*\(/,
    // The benchmark's floor: the bare calls are what it measures. worker_sandbox: what a rule of
    // Landlock is about is named by a handle. sandbox_attempts: what it has to refuse.
    allowed: (path) => inFolder('io')(path) || isTest(path) || path === 'bench/floor.cpp' ||
        path === 'src/duck/worker_sandbox.cpp' ||
        path === 'src/duck/testing/sandbox_attempts.cpp',
    reason: 'durable files go through io::FileSystem',
  },
  {
    name: 'file stream',
    pattern: /\b(fopen|std::ofstream|std::fstream)\b|std::filesystem::(rename|create_hard_link)\b/,
    // cli/: its user's own files, never the root's. worker_limits, scheduling: files of /proc.
    allowed: (path) => inFolder('io')(path) || inFolder('cli')(path) || isTest(path) ||
        path === 'src/duck/worker_limits.cpp' || path === 'src/base/scheduling.cpp',
    reason: 'durable files go through io::FileSystem',
  },
  {
    name: 'file lock',
    // A mutex's own try_lock takes no argument.
    pattern: /(\.|->)try_lock\s*\(\s*[^)\s]/,
    // io/: a process's lock on its own staging folder, held for its life.
    allowed: (path) => inFolder('io')(path) || path === 'src/lock/file_kb_lock.cpp' ||
        isTest(path),
    reason: 'the kb lock is taken by KbLock::acquire, which counts it',
  },
  {
    name: 'DuckDB outside duck/',
    pattern: /#\s*include\s*[<"]duckdb\.h(pp)?[>"]|\bduckdb_[a-z_]+\s*\(/,
    allowed: inFolder('duck'),
    reason: "DuckDB's C API is used in src/duck/ only",
  },
  {
    name: 'std::format',
    pattern: /\bstd::(v?format(_to)?|print(ln)?)\s*\(|#\s*include\s*<(format|print)>/,
    allowed: nowhere,
    reason: 'g++ 12 lacks it: use fmt',
  },
  { name: 'std::endl', pattern: /\bstd::endl\b/, allowed: nowhere, reason: "write '\\n'" },
  {
    name: 'shared_ptr',
    pattern: /\b(shared_ptr|make_shared|enable_shared_from_this)\b/,
    // http/: a connection lives until its last pending Asio handler has run. writer_instances: a
    // retired DuckDB instance lives until the last thread's statement on it has ended. publish: a
    // folder held open for the next batch is let go while others are on their way into it.
    allowed: (path) => inFolder('http')(path) || path.startsWith('src/duck/writer_instances.') ||
        path.startsWith('src/io/publish.'),
    reason: 'name one owner: a value, a unique_ptr or a reference to what outlives the user',
  },
  {
    name: 'raw new or delete',
    // A unique_ptr that takes it at once is how a private constructor is called.
    pattern: new RegExp(
        String.raw`(?<![\w.>]|\boperator |\bunique_ptr<[\w:]+>\()new\s+[A-Za-z_:(]|` +
        String.raw`(?<!=\s*|\boperator )\bdelete\b\s*(\[\s*\]\s*)?[A-Za-z_:(*]`),
    allowed: nowhere,
    reason: 'use a value, std::make_unique or an Owned handle',
  },
  {
    name: 'capture of everything',
    pattern: /\[=[\],]/,
    allowed: nowhere,
    reason: 'name each capture of a lambda that may outlive its frame',
  },
];

const kSecondsPerUnit = {
  hours: 3600, minutes: 60, seconds: 1, milliseconds: 1e-3, microseconds: 1e-6,
};
const kSecondsPerSuffix = { h: 3600, min: 60, s: 1, ms: 1e-3, us: 1e-6 };

/// The longest literal sleep of a line, in seconds; a wait for a condition is not a sleep.
export function sleepSeconds(line) {
  const call = /\b(sleep_for|u?sleep)\s*\(?\s*(.*)$/.exec(line);
  if (!call) return 0;
  const unit = /\b(hours|minutes|(?:milli|micro)?seconds)\s*[({]\s*([\d'.]+)/.exec(call[2]);
  const suffix = /^([\d'.]+)(h|min|s|ms|us)\b/.exec(call[2]);
  const plain = /^([\d'.]+)/.exec(call[2]);
  const value = (digits) => Number(digits.replaceAll("'", ''));
  if (unit) return value(unit[2]) * kSecondsPerUnit[unit[1]];
  if (suffix) return value(suffix[1]) * kSecondsPerSuffix[suffix[2]];
  if (plain) return value(plain[1]) * (call[1] === 'usleep' ? 1e-6 : 1);
  return 0;
}

const maySleep = (path) => (isCpp(path) ? !isTest(path) : !/^tests\/.*\.sh$/.test(path));

export function lint(tree) {
  const banned = cppFiles(tree).flatMap(([path, text]) => {
    const rules = kBanned.filter((rule) => !rule.allowed(path));
    return codeOnly(text).split('\n').flatMap(
        (line, index) => rules.filter(({ pattern }) => pattern.test(line)).map(
            ({ name, reason }) => offence(path, index + 1, `${name}: ${reason}`)));
  });
  const sleeps = [...tree].filter(([path]) => !maySleep(path)).flatMap(([path, text]) => {
    const code = path.endsWith('.sh') ? text : codeOnly(text);
    return code.split('\n').flatMap(
        (line, index) => sleepSeconds(line) > kSleepSecondsMax
            ? [offence(path, index + 1, 'sleeps over 1 s: wait for the condition instead')]
            : []);
  });
  return [...banned, ...sleeps];
}
