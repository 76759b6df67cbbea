// Every lint catches its planted offence, at its line, and lets the honest twin pass.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as calls from '../../scripts/lint/calls.mjs';
import * as includes from '../../scripts/lint/includes.mjs';
import * as portable from '../../scripts/lint/portable.mjs';
import * as shape from '../../scripts/lint/shape.mjs';
import { codeOnly } from '../../scripts/lint/tree.mjs';

const found = (module, files) => module.lint(new Map(Object.entries(files))).map(
    ({ path, line, reason }) => `${path}:${line}: ${reason}`);

function catches(module, path, text, pattern) {
  const offences = found(module, { [path]: text }).filter((line) => pattern.test(line));
  assert.equal(offences.length, 1, `${pattern} in ${path}: ${text}`);
}

function passes(module, path, text) {
  assert.deepEqual(found(module, { [path]: text }), []);
}

test('comments and literals are no code, and lines stay where they are', () => {
  const text = 'a(); // ::open(\n/* new\nX */ b("::fsync( // x");\n' +
      'c(R"sql(delete "y")sql", \'"\');\nd(1\'000, "z");\n#include "io/x.h"\n';
  const code = codeOnly(text);
  assert.equal(code.split('\n').length, text.split('\n').length);
  assert.doesNotMatch(code, /open|fsync|new|X|delete|x"|z/);
  assert.match(code, /a\(\);[^]*b\("[^]*c\("[^]*d\(1'000,[^]*#include "io\/x\.h"/);
});

test('an include that points up is caught, one that points down passes', () => {
  const cases = [
    ['src/base/a.h', 'io/file_system.h', 'base may not use io'],
    ['src/io/a.cpp', 'kb/root.h', 'io may not use kb'],
    ['src/stream/a.cpp', 'lock/kb_lock.h', 'stream may not use lock'],
    ['src/http/a_test.cpp', 'stream/landing.h', 'http may not use stream'],
    ['src/cli/a.cpp', 'api/routes.h', 'cli may not use api'],
    ['src/api/a.cpp', 'app/main.h', 'api may not use app'],
  ];
  for (const [path, target, reason] of cases) {
    catches(includes, path, `\n#include "${target}"\n`, new RegExp(`${path}:2: ${reason}`));
  }
  passes(includes, 'src/stream/a.cpp', '#include "kb/root.h"\n#include "stream/b.h"\n');
  passes(includes, 'src/app/a.cpp', '#include "api/a.h"\n#include "cli/a.h"\n');
  passes(includes, 'src/base/a.cpp', '// #include "io/file_system.h"\n');
});

test('an unknown module, a link that points up and an include cycle are caught', () => {
  catches(includes, 'src/misc/a.h', '', /misc is not in the table/);
  catches(includes, 'src/base/CMakeLists.txt', 'strata_library(base\n  DEPENDS kb\n  LINK fmt)',
          /src\/base\/CMakeLists\.txt:2: base may not use kb/);
  passes(includes, 'src/kb/CMakeLists.txt', 'strata_library(kb DEPENDS base io duck\n  LINK fmt)');
  const cycle = found(includes, {
    'src/io/a.h': '#include "io/b.h"\n',
    'src/io/b.h': '#include "io/a.h"\n',
    'src/io/c.h': '#include "io/b.h"\n',
  });
  const loop = 'src/io/a.h -> src/io/b.h -> src/io/a.h';
  assert.deepEqual(cycle, [`src/io/a.h:1: includes itself: ${loop}`]);
});

test('the table of modules has no cycle', () => {
  const reaches = (from, to) => includes.kMayInclude[from].some(
      (next) => next === to || reaches(next, to));
  for (const module of Object.keys(includes.kMayInclude)) {
    assert.equal(reaches(module, module), false, module);
  }
});

test('banned calls are caught outside their place', () => {
  const cases = [
    ['src/kb/a.cpp', 'int f = ::open(p, O_RDONLY);', /raw file call/],
    ['src/kb/a.cpp', 'if (::fsync(fd) != 0) {', /raw file call/],
    ['src/kb/a.cpp', '  ::rename(a, b);', /raw file call/],
    ['src/stream/a.cpp', '  return ::linkat(d, a, d, b, 0);', /raw file call/],
    ['bench/load_generator.cpp', '  ::rename(a, b);', /raw file call/],
    ['src/kb/a.cpp', 'FILE* f = fopen(p, "w");', /file stream/],
    ['src/kb/a.cpp', 'std::ofstream out(path);', /file stream/],
    ['src/kb/a.cpp', 'std::filesystem::rename(a, b);', /file stream/],
    ['src/kb/a.cpp', 'auto lock = fs.try_lock({folder, ".lock"});', /file lock/],
    ['src/lock/kb_lock.cpp', 'auto lock = fs->try_lock(file);', /file lock/],
    ['src/kb/a.cpp', '#include <duckdb.h>', /DuckDB outside/],
    ['src/kb/a.cpp', 'duckdb_open(nullptr, &db);', /DuckDB outside/],
    ['src/kb/a_test.cpp', '#include "duckdb.h"', /DuckDB outside/],
    ['src/io/a.cpp', 'auto s = std::format("{}", 1);', /std::format/],
    ['src/io/a.cpp', '#include <format>', /std::format/],
    ['src/io/a.cpp', 'std::cerr << 1 << std::endl;', /std::endl/],
    ['src/kb/a.h', 'std::shared_ptr<Kb> kb_;', /shared_ptr/],
    ['src/kb/a.cpp', 'auto* kb = new Kb();', /raw new or delete/],
    ['src/kb/a.cpp', 'delete kb;', /raw new or delete/],
    ['src/kb/a.cpp', 'delete[] rows;', /raw new or delete/],
    ['src/kb/a.cpp', 'pool.post([=] { go(); });', /capture of everything/],
  ];
  for (const [path, text, pattern] of cases) catches(calls, path, `\n${text}\n`, pattern);
});

test('what is no banned call passes', () => {
  const cases = [
    ['src/io/a.cpp', 'int f = ::open(p, O_RDONLY); ::fsync(f);'],
    ['bench/floor.cpp', 'int f = ::open(p, O_RDONLY); ::fsync(f);'],
    ['src/duck/a.cpp', '#include <duckdb.h>\nduckdb_open(nullptr, &db);'],
    ['src/lock/file_kb_lock.cpp', 'auto lock = fs_.try_lock({kb_folder_, kLockFile});'],
    ['src/kb/a.cpp', 'std::unique_lock held(mutex, std::defer_lock); held.try_lock();'],
    ['src/http/session.cpp', 'auto self = shared_from_this(); std::shared_ptr<Session> s;'],
    ['src/kb/a.cpp', 'Root::open(fs); root->open(); files.rename(a, b); io::link(a, b);'],
    ['src/kb/a.h', 'Kb(const Kb&) = delete;\nbool is_new = renew(x);\nint new_rows = 0;'],
    ['src/kb/a.cpp', 'auto t = fmt::format("{}", 1);  // never std::endl, new X or ::open('],
    ['src/kb/a_test.cpp', 'std::ofstream(path) << "x";'],
    ['src/kb/a.cpp', 'return std::unique_ptr<kb::Root>(new Root(fs));'],
  ];
  for (const [path, text] of cases) passes(calls, path, text);
});

test('long sleeps in tests are caught', () => {
  const long = [
    ['src/io/a_test.cpp', 'std::this_thread::sleep_for(std::chrono::seconds(2));'],
    ['src/io/a_test.cpp', 'std::this_thread::sleep_for(1500ms);'],
    ['src/io/a_test.cpp', 'std::this_thread::sleep_for(std::chrono::milliseconds{2\'000});'],
    ['tests/process/a.cpp', 'sleep(3);'],
    ['tests/process/a.sh', 'sleep 5'],
  ];
  for (const [path, text] of long) catches(calls, path, text, /sleeps over 1 s/);
  passes(calls, 'src/io/a_test.cpp', 'std::this_thread::sleep_for(std::chrono::milliseconds(20));');
  passes(calls, 'tests/process/a.sh', 'sleep 0.2');
  passes(calls, 'src/io/a.cpp', 'std::this_thread::sleep_for(std::chrono::seconds(2));');
});

const functionOf = (lines) => `int f() {\n${'  g();\n'.repeat(lines - 2)}}\n`;

test('long lines and functions, bare notes to do and unguarded headers are caught', () => {
  catches(shape, 'src/io/a.cpp', `\n// ${'x'.repeat(98)}\n`, /a\.cpp:2: 101 columns/);
  passes(shape, 'src/io/a.cpp', `// ${'ä'.repeat(97)}\n`);
  catches(shape, 'scripts/a', `# ${'x'.repeat(99)}\n`, /scripts\/a:1: 101 columns/);
  catches(shape, 'src/io/a.cpp', functionOf(71), /a\.cpp:1: a function of 71 lines/);
  passes(shape, 'src/io/a.cpp', functionOf(70));
  passes(shape, 'src/io/a.cpp', `int f() {\n  return g({\n${'    {1, 2},\n'.repeat(90)}  });\n}\n`);
  const lambda = `int f() {\n  return g([&] {\n${'    h();\n'.repeat(90)}  });\n}\n`;
  catches(shape, 'src/io/a.cpp', lambda, /a function of 94 lines/);
  catches(shape, 'src/io/a.cpp', '// TODO: later\n', /names its issue/);
  passes(shape, 'src/io/a.cpp', '// TODO(#12): later\n');
  catches(shape, 'src/io/a.h', 'int a();\n', /#pragma once/);
  const own = {
    'src/io/a.h': '#pragma once\n',
    'src/io/a.cpp': '#include <string>\n#include "io/a.h"\n',
  };
  assert.match(found(shape, own).join('\n'), /src\/io\/a\.cpp:1: includes src\/io\/a\.h first/);
});

test('functions are told from classes, tables and namespaces', () => {
  const text = [
    '#define X(a) \\', '  { a }',
    'namespace a {', 'class B : public C<int()> {', ' public:',
    '  B() : x_{1}, y_(2) {', '    f();', '  }', '};',
    'const auto kRows = std::to_array<Row>({', '    {1, 2},', '});',
    'template <typename T = int>', 'T g(T t)', '    requires Plain<T> {',
    '  if (t) { return 1; }', '  return 2;', '}',
    'const auto kF = [](int a) {', '  return a;', '};', '}',
  ].join('\n');
  const spans = shape.functions(text).map(({ first, last }) => `${first}-${last}`);
  assert.deepEqual(spans, ['6-6', '6-8', '13-18', '19-21']);
});

test('registry hosts, paths of one machine and missing READMEs are caught', () => {
  const host = ['registry', 'npmjs', 'org'].join('.');
  const home = ['', 'home', 'ann', 'strata'].join('/');
  catches(portable, 'docs/a.md', `see ${host}\n`, /names the package registry/);
  catches(portable, 'docs/a.md', `run ${home}/x\n`, /a path of one machine/);
  catches(portable, 'deps/package-lock.json', '"resolved": "https://mirror.example/a"', /no host/);
  catches(portable, 'src/io/a.h', '', /src\/io:1: needs a README\.md/);
  assert.deepEqual(
      found(portable, { 'src/io/a.h': '', 'src/io/README.md': 'under /root or /var/lib' }), []);
});
