// The checker finds a planted fault of each class, and nothing where nothing is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, History, kNothingWrong, rowDigest } from './checker.mjs';

const batch = (id, count) => Array.from({ length: count }, (_, n) => ({ n: `${n}`, of: id }));
const digests = (rows) => rows.map(rowDigest);

/// a and b acknowledged, c without an answer, d refused.
function planted() {
  const history = new History();
  const outcomes = { a: 'ok', b: 'ok', c: 'info', d: 'fail' };
  for (const [id, outcome] of Object.entries(outcomes)) {
    history[outcome](history.invoke(id, batch(id, 3)));
  }
  const seen = new Map(['a', 'b'].map((id) => [id, digests(batch(id, 3))]));
  return { history, seen };
}

const cases = [
  ['nothing', () => {}, {}],
  ['a batch without an answer that is there', (seen) => seen.set('c', digests(batch('c', 3))), {}],
  ['a lost batch', (seen) => seen.delete('a'), { lost: ['a'] }],
  ['a torn batch', (seen) => seen.get('a').pop(), { torn: ['a'] }],
  ['a torn batch without an answer', (seen) => seen.set('c', digests(batch('c', 2))),
   { torn: ['c'] }],
  ['a batch that landed twice', (seen) => seen.set('b', digests([...batch('b', 3),
                                                                 ...batch('b', 3)])),
   { duplicated: ['b'] }],
  ['one row twice', (seen) => seen.get('b').push(seen.get('b')[1]), { duplicated: ['b'] }],
  ['a refused batch that is there', (seen) => seen.set('d', digests(batch('d', 3))),
   { phantom: ['d'] }],
  ['a batch nobody sent', (seen) => seen.set('e', digests(batch('e', 1))), { phantom: ['e'] }],
  ['a row nobody sent', (seen) => seen.get('a').push(rowDigest({ n: '9' })), { phantom: ['a'] }],
  ['another batch\'s rows under an id', (seen) => seen.set('a', seen.get('b')),
   { lost: ['a'], phantom: ['a'] }],
];
for (const [name, plant, wrong] of cases) {
  test(`the checker and ${name}`, () => {
    const { history, seen } = planted();
    plant(seen);
    assert.deepEqual(check(history, seen), { ...kNothingWrong, ...wrong });
  });
}

test('two contents acknowledged under one id: the one that is not there is lost', () => {
  const history = new History();
  history.ok(history.invoke('a', batch('first', 2)));
  history.ok(history.invoke('a', batch('second', 2)));
  const seen = new Map([['a', digests(batch('first', 2))]]);
  assert.deepEqual(check(history, seen), { ...kNothingWrong, lost: ['a'] });
});

test('equal rows in one batch are counted, and null is no cell', () => {
  const history = new History();
  const rows = [{ a: '1' }, { a: '1', b: null }, { b: '2', a: '1' }];
  history.ok(history.invoke('a', rows));
  assert.equal(rowDigest({ a: '1', b: '2' }), rowDigest(rows[2]));
  assert.deepEqual(check(history, new Map([['a', digests(rows)]])), kNothingWrong);
  assert.deepEqual(check(history, new Map([['a', digests(rows.slice(1))]])),
                   { ...kNothingWrong, torn: ['a'] });
});
