// A large CSV into one stream by `strata send`: every row once; a second run adds nothing and says
// so. 8 MB, or 80 MB with STRATA_LONG=1. The file is made anew each time, always the same.
import assert from 'node:assert/strict';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, run, startWith } from './harness.mjs';

const kMegabytes = process.env.STRATA_LONG === '1' ? 80 : 8;
const kBatchBytes = 524_288;  // of `strata send`, a constant for ever

/// Rows with the text that CSV makes hard: quotes, line ends, empty cells, leading zeros.
const rowOf = (n) => `${n},${String(n % 99_999).padStart(8, '0')},"name ""${n % 977}"" of,\n it",` +
                     `${n % 7 === 0 ? '' : (n * 37) % 1000 / 8},note ${'x'.repeat(n % 60)}\r\n`;

function writeCsv(path) {
  const file = openSync(path, 'w');
  writeSync(file, 'n,code,name,amount,note\r\n');
  let rows = 0;
  for (let bytes = 0; bytes < kMegabytes * 1_000_000;) {
    const block = Array.from({ length: 1000 }, () => rowOf(rows++)).join('');
    bytes += writeSync(file, block);
  }
  closeSync(file);
  return rows;
}

test(`a CSV of ${kMegabytes} MB, sent twice`, async (context) => {
  const path = join(freshFolder(), 'large.csv');
  const rows = writeCsv(path);
  const server = await startWith('demo', ['large']);
  const send = async () => {
    const begun = Date.now();
    const { code, out, log } = await run(['send', 'demo', 'large', path, '--url', server.url]);
    assert.equal(code, 0, log);
    context.diagnostic(`${statSync(path).size} bytes, ${Date.now() - begun} ms: ${out.trim()}`);
    return out;
  };
  const first = await send();
  const { files, rows: landed } = await server.receiver('demo', 'large');
  assert.equal(landed, rows);
  assert.ok(files >= statSync(path).size / kBatchBytes, `${files} batches`);
  const all = `${rows.toLocaleString('en-US')} rows`;
  assert.ok(first.startsWith(`${all} landed in ${files} batches, 0 batches replayed (0 rows), ` +
                             '0 batches refused'), first);

  const second = await send();
  assert.ok(second.startsWith(`0 rows landed in 0 batches, ${files} batches replayed (${all}), ` +
                              '0 batches refused'), second);
  assert.deepEqual((({ files: f, rows: r }) => [f, r])(await server.receiver('demo', 'large')),
                   [files, rows]);
  const sql = `SELECT count(*), count(DISTINCT n), sum(TRY_CAST(n AS BIGINT))::VARCHAR,
                      count(*) FILTER (length(code) = 8), count(*) FILTER (amount = ''),
                      count(*) FILTER (contains(name, chr(10)))
               FROM raw_extracted.stream_large`;
  const empty = Math.ceil(rows / 7);
  assert.deepEqual(await server.rows('demo', sql, { timeout_ms: 60_000 }),
                   [[rows, rows, `${rows * (rows - 1) / 2}`, rows, empty, rows]]);
  await server.stop();
});
