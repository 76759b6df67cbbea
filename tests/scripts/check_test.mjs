// `make check` as a whole: it fails on a planted offence of format and of lint, and says where.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'strata-check-'));
after(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, 'src/io'), { recursive: true });
copyFileSync(join(repository, '.clang-format'), join(root, '.clang-format'));
writeFileSync(join(root, 'src/io/README.md'), 'Files.\n');
spawnSync('git', ['init', '-q', root]);

function check(text) {
  writeFileSync(join(root, 'src/io/a.cpp'), text);
  const { status, stdout, stderr } = spawnSync(join(repository, 'scripts/check'), [root], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('a clean tree passes', () => {
  const { status, stdout, stderr } = check('int a() { return 1; }\n');
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.match(stdout, /^lint: 3 files, 0 offences\n$/);
});

test('a line out of format fails', () => {
  const { status, stderr } = check('int a()   { return 1; }\n');
  assert.equal(status, 1);
  assert.match(stderr, /src\/io\/a\.cpp:1:8: error: code should be clang-formatted/);
});

test('an offence fails and names its file and line', () => {
  const { status, stdout } = check('int a() { return 1; }\nint* b() { return new int; }\n');
  assert.equal(status, 1);
  assert.match(stdout, /^src\/io\/a\.cpp:2: raw new or delete: [^\n]*\nlint: 3 files, 1 off/);
});
