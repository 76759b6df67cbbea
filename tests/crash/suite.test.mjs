// What ctest is told of a suite that skips.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, repository } from '../e2e/harness.mjs';

function exitOf(lines) {
  const file = join(freshFolder(), 'planted.test.mjs');
  writeFileSync(file, ["import { test } from 'node:test';", ...lines, ''].join('\n'));
  const env = { ...process.env };
  delete env.NODE_TEST_CONTEXT;  // it is no part of this run
  const suite = join(repository, 'tests/crash/suite.mjs');
  return spawnSync(process.execPath, [suite, file], { env }).status;
}

const kSay = "console.log('SKIPPED: disks');";
const kSkip = "test('skipped', { skip: 'no disks' }, () => {});";
const kPass = "test('passes', () => {});";
const kFail = "test('fails', () => { throw new Error('wrong'); });";
const kRequired = "throw new Error('disks are needed');";
const kSuites = [
  ['all pass', [kPass], 0],
  ['all are skipped', [kSay, kSkip], 77],
  ['one is skipped', [kSay, kSkip, kPass], 0],
  ['one fails', [kPass, kFail], 1],
  // Whatever had said SKIPPED was once skipped for ctest, also when it failed.
  ['one is skipped, another fails', [kSay, kSkip, kFail], 1],
  ['what is skipped was required', [kSay, kRequired, kSkip], 1],
];
for (const [what, lines, code] of kSuites) {
  test(`the end of a suite: ${what}`, () => assert.equal(exitOf(lines), code));
}

test('ctest goes by the end of a suite, not by what it says', () => {
  const text = readFileSync(join(repository, 'tests/crash/CMakeLists.txt'), 'utf8');
  assert.match(text, /SKIP_RETURN_CODE 77/);
  assert.doesNotMatch(text, /SKIP_REGULAR_EXPRESSION/);
});
