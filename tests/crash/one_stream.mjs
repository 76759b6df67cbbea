// What the suites over a real server land: batches of one stream, and what has to be there of them.
import assert from 'node:assert/strict';
import { check, kNothingWrong, readView } from '../e2e/checker.mjs';

export const kKb = 'demo';
export const kStream = 's';

/// Three rows for sendLogged().
export const batch = (id, columns = {}) => ({
  kb: kKb, stream: kStream, id, rows: [1, 2, 3].map((n) => ({ n: `${n}`, id, ...columns })),
});

export async function expectNothingWrong(server, history) {
  assert.deepEqual(check(history, await readView(server, kKb, kStream)), kNothingWrong);
}
