// The table of docs/PROMISE.md says what was reported, what was skipped and what was not run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repository } from '../e2e/harness.mjs';
import { failuresOf, tableOf, withTable } from './promise.mjs';

const lineOf = (table, start) => table.split('\n').find((line) => line.startsWith(`| ${start}`));

test('each row says what its suite reported', () => {
  const table = tableOf(new Map([
    ['race-duplicates', { states: 10000, wrong: 0 }],
    ['kill-random', { states: 2000, wrong: 0, also: { 'sends cut': 4123 } }],
    ['power-skipped', { skipped: 'not root' }],
    ['race-no-identity-check', { mutant: 'no-identity-check', caught: 10, of: 10 }],
  ]));
  assert.match(lineOf(table, 'the same id in two'), /\| 10,000 rounds, 0 wrong \|$/);
  assert.match(lineOf(table, 'two processes'), /\| 2,000 kills, 4,123 sends cut, 0 wrong \|$/);
  assert.match(lineOf(table, 'power cut, xfs'), /\| skipped: not root \|$/);
  assert.match(lineOf(table, 'mutant: no file is synced'), /\| skipped: not root \|$/);
  assert.match(lineOf(table, 'mutant: nobody looks'), /\| caught with 10 of 10 seeds \|$/);
  assert.match(lineOf(table, 'no descriptor'), /\| not run \|$/);
});

test('the page has a place for the table, and keeps the rest', () => {
  const page = readFileSync(join(repository, 'docs/PROMISE.md'), 'utf8');
  const written = withTable(page, 'TABLE');
  assert.equal(withTable(written, 'TABLE'), written);
  assert.match(written, /^# What a 200 promises\n/);
  assert.match(written, /-->\nTABLE\n<!-- end -->\n/);
});

const kSound = ['race-folds', { states: 3, wrong: 0 }];
const kRuns = [
  ['nothing is wrong', [kSound, ['power-no-file-sync', { mutant: 'x', caught: 10, of: 10 }]], []],
  ['something is wrong', [['race-folds', { states: 3, wrong: 2 }]], ['race-folds: 2 wrong']],
  ['nothing was tried', [['race-folds', { states: 0, wrong: 0 }]],
   ['race-folds: nothing was tried']],
  ['a report without figures', [['race-folds', {}]],
   ['race-folds: undefined wrong', 'race-folds: nothing was tried']],
  ['a mutant was missed', [['power-no-file-sync', { mutant: 'x', caught: 9, of: 10 }]],
   ['power-no-file-sync: caught with 9 of 10 seeds']],
  ['a mutant was not tried', [['power-no-file-sync', { mutant: 'x', caught: 0, of: 0 }]],
   ['power-no-file-sync: caught with 0 of 0 seeds']],
  ['a report of no row', [['race-fold', { states: 3, wrong: 0 }]],
   ['race-fold: no row of the table is called so']],
  ['a skip is listed', [['power-skipped', { skipped: 'not root' }]], []],
];
for (const [what, reports, failures] of kRuns) {
  test(`how a run ends: ${what}`, () => {
    assert.deepEqual(failuresOf(new Map(reports), false), failures);
  });
}

test('what is missing is a failure when all is required', () => {
  const failures = failuresOf(new Map([kSound, ['power-skipped', { skipped: 'not root' }]]), true);
  assert.ok(failures.some((line) => /power cut, xfs.*skipped: not root/.test(line)));
  assert.ok(failures.some((line) => /no descriptor.*not run/.test(line)));
  assert.ok(!failures.some((line) => /folded into the ledger/.test(line)));
});
