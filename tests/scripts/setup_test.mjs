// Set-up's promises that need no package manager: what it refuses, and what the lock pins.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'strata-setup-'));
after(() => rmSync(folder, { recursive: true }));

function requireDuckdb(version) {
  const json = JSON.stringify({ name: 'duckdb', version, description: 'x' }, null, 2);
  writeFileSync(join(folder, 'package.json'), json);
  const { status, stderr } = spawnSync(join(root, 'scripts/require_duckdb'), [folder], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

test('a DuckDB below 1.5 is refused in one line, a newer one is not', () => {
  for (const version of ['1.5.0', '1.5.6-r.1', '1.10.0', '2.0.0']) {
    assert.deepEqual(requireDuckdb(version), { status: 0, stderr: '' }, version);
  }
  for (const version of ['1.4.4', '0.10.2']) {
    const { status, stderr } = requireDuckdb(version);
    assert.equal(status, 1, version);
    assert.match(stderr, new RegExp(`^DuckDB ${version} is too old: Strata needs 1\\.5 [^\n]*\n$`));
  }
});

test('a folder without DuckDB is refused in one line', () => {
  const { status, stderr } = requireDuckdb(undefined);
  assert.equal(status, 1);
  assert.match(stderr, /^DuckDB is missing: [^\n]*\n$/);
});

test('the lock pins by integrity hash, names no host and brings no install tree', () => {
  const lock = JSON.parse(readFileSync(join(root, 'deps/package-lock.json'), 'utf8'));
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  for (const [path, entry] of packages) {
    assert.match(entry.integrity ?? '', /^sha512-/, path);
    assert.equal(entry.resolved, undefined, path);
  }
  // scripts/relock leaves out what packages would need of which only files are read.
  for (const name of ['duckdb', '@bytebase/dbhub']) {
    const { dependencies, optionalDependencies } = lock.packages[`node_modules/${name}`];
    assert.deepEqual([name, dependencies, optionalDependencies], [name, undefined, undefined]);
  }
  for (const other of ['node-gyp', 'express']) {
    assert.ok(!packages.some(([path]) => path.endsWith(`/${other}`)), other);
  }
});

function setup(...args) {
  const { status, stdout, stderr } = spawnSync(join(root, 'scripts/setup'), args, {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('set-up changes nothing where nothing is missing', () => {
  assert.deepEqual(setup(), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(setup('tests'), { status: 0, stdout: '', stderr: '' });
  const usage = 'usage: scripts/setup [tests|services|bench]\n';
  assert.deepEqual(setup('test'), { status: 2, stdout: '', stderr: usage });
});

test('only the tests bring a browser', () => {
  const script = readFileSync(join(root, 'scripts/setup'), 'utf8');
  const list = (name) => new RegExp(`^readonly ${name}='$([^']*)'`, 'm').exec(script)[1];
  assert.doesNotMatch(list('NEEDS'), /chromium/);
  assert.match(list('TEST_NEEDS'), /^chromium +command chromium$/m);
  const targets = readFileSync(join(root, 'Makefile'), 'utf8');
  assert.match(targets, /^test:\n\t@scripts\/setup tests\n/m);
  assert.match(targets, /^build:\n\t@scripts\/setup\n/m);
});
