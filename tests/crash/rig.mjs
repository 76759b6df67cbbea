// What the crash suites share: their programs, the content that publish_rig gives an id, and the
// verdict on what is there after a crash, by the checker that judges the real server too.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync,
         writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { check, kNothingWrong, sha256 } from '../e2e/checker.mjs';
import { count, kSeed } from '../e2e/given.mjs';
import { contentSha256 } from '../e2e/independent.mjs';

/// Where publish_rig, recfs and power_cut are.
export const programs = process.env.STRATA_CRASH_PROGRAMS ?? '';
/// The quick form catches each mutant with every one of these.
export const seeds = Array.from({ length: count('STRATA_CRASH_SEEDS', 10) }, (_, n) => kSeed + n);

/// Why no disk can be played here (recfs under a loop device), or nothing.
export function diskObstacle() {
  if (!existsSync(join(programs, 'power_cut'))) return 'built without libfuse3';
  if (process.getuid() !== 0) return 'not root';
  for (const device of ['/dev/fuse', '/dev/loop-control']) {
    if (!existsSync(device)) return `no ${device}`;
  }
  for (const tool of ['mkfs.ext4', 'mkfs.xfs']) {
    if (spawnSync(tool, ['-V']).error !== undefined) return `no ${tool}`;
  }
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'no mount namespaces';
  return '';
}

/// The content of an id, by the rule of rig_stream.cpp; no code is shared with it.
export function contentOf(id) {
  const rows = sha256(id)[0] < '4' ? 400 : 3;
  return contentSha256(Array.from({ length: rows }, (_, n) => [
    ['id', id], ['n', `${n}`], ['text', sha256(`${id} ${n}`)],
  ]));
}
const contents = new Map();
function cachedContentOf(id) {
  if (!contents.has(id)) contents.set(id, contentOf(id));
  return contents.get(id);
}

/// Memory, where there is enough of it: the rig decides what is durable, not this machine's disk.
const kMemory = '/dev/shm';
const kMemoryBytesMin = 512 * 1024 * 1024;
export function memoryFolder() {
  if (!existsSync(kMemory)) return tmpdir();
  const { bavail, bsize } = statfsSync(kMemory);
  return bavail * bsize >= kMemoryBytesMin ? kMemory : tmpdir();
}

const running = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/// A folder of its own that is gone after `work`, whatever happens.
export async function withFolder(work, parent = tmpdir()) {
  const folder = mkdtempSync(join(parent, 'strata-crash-'));
  folders.add(folder);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    folders.delete(folder);
  }
}

/// Starts one of the programs; it ends with this process.
export function launch(name, args, env = {}) {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', join(programs, name), ...args],
                      { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.out = '';
  child.log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { child.log += text; });
  child.ended = new Promise((resolve) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, out: child.out, log: child.log });
    });
  });
  return child;
}

export function run(name, args, env) {
  const child = launch(name, args, env);
  child.stdout.setEncoding('utf8').on('data', (text) => { child.out += text; });
  return child.ended;
}

/// Its lines of JSON as they come.
export async function* linesOf(child) {
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line);
}

/// `acked`: [id, file_sha256]. What is wrong with what a survey found: a list of sentences.
export function judge(acked, survey) {
  const invoked = new Map();
  const operation = (id, outcome) => ({ id, digests: [cachedContentOf(id)], outcome });
  for (const [id] of survey.batches) invoked.set(id, operation(id, 'info'));
  for (const [id] of acked) invoked.set(id, operation(id, 'ok'));
  const seen = new Map();
  for (const [id, content] of survey.batches) seen.set(id, [...(seen.get(id) ?? []), content]);
  const found = check({ operations: [...invoked.values()] }, seen);
  const problems = Object.keys(kNothingWrong).flatMap(
      (kind) => found[kind].map((id) => `${kind}: ${id}`));
  const files = new Map(survey.batches.map(([id, , file]) => [id, file]));
  for (const [id, file] of acked) {
    if (files.has(id) && files.get(id) !== file) problems.push(`another file: ${id}`);
  }
  return [...problems, ...survey.broken];
}

/// One state of power_cut.
export function judgeState({ acked, error, first, retries, after }) {
  if (error !== '') return [error];
  const before = new Set(acked.map(([id]) => id));
  const problems = judge(acked, first).map((problem) => `after the cut: ${problem}`);
  for (const [id, landing] of retries) {
    if (landing !== 'landed' && landing !== 'replayed') problems.push(`${id} again: ${landing}`);
    if (landing === 'landed' && before.has(id)) problems.push(`${id} landed a second time`);
  }
  const landed = retries.map(([id]) => [id, after.batches.find(([other]) => other === id)?.[2]]);
  const later = judge([...acked, ...landed.filter(([id]) => !before.has(id))], after);
  return [...problems, ...later.map((problem) => `after the retries: ${problem}`)];
}

/// Whether a mutant shows in `problems`. It has to show as `verdict` says: a program that ended, a
/// disk that was not mounted, a name that no mutant has are no catch but a broken rig, and throw.
export function shows(problems, verdict) {
  const strange = problems.filter((problem) => !verdict.test(problem));
  assert.deepEqual(strange, [], `not what ${verdict} says of the mutant`);
  return problems.length > 0;
}

export function readAcks(path) {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split('\n').filter((line) => line !== '').map((line) => {
    const [, id, file, landing, position] = line.split(' ');
    return { id, file, landing, position: Number(position) };
  });
}

/// Kept for docs/PROMISE.md: what a suite tried and what came of it. `skipped` says why.
export function report(row) {
  const folder = process.env.STRATA_CRASH_RESULTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${row.suite}-${row.key}.json`), `${JSON.stringify(row)}\n`);
}

/// Why tests of `what` have to be skipped, for node's `skip`: `obstacle`, or false where there is
/// none. Says so in the log and as `row`, and fails where nothing may be skipped.
export function skipFor(obstacle, what, row) {
  if (obstacle === '') return false;
  console.log(`SKIPPED: ${what} (${obstacle})`);
  assert.notEqual(process.env.STRATA_REQUIRE_ALL, '1', `${what}: ${obstacle}`);
  report({ ...row, fault: what, skipped: obstacle });
  return obstacle;
}
