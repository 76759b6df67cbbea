// The files that Strata's encoder writes, read by readers that share nothing with it or with each
// other: hyparquet (JavaScript), parquet-wasm (the Rust implementation of Arrow) and DuckDB. Every
// shape a batch may have comes back to the byte from each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ndjson, startWith } from './harness.mjs';
import { readParquet } from './independent.mjs';

const require = createRequire(new URL('../../deps/package.json', import.meta.url));
const parquetWasm = require('parquet-wasm');
const { tableFromIPC } = require('apache-arrow');

const many = (count, rowOf) => Array.from({ length: count }, (_, index) => rowOf(index));
const unicode = ['ä', '🌊', '\u2028', '\uffff', '文字', 'e\u0301', '\u007f', '\u{10ffff}'];

/// What a batch may look like: its name and its rows.
const kShapes = {
  one_row: [{ a: '1' }],
  all_null: [{ a: 'first' }, {}, {}],
  only_null: many(50, () => ({ a: null, b: null })),
  empty_texts: many(20, (n) => ({ a: '', b: n % 2 ? '' : null })),
  unicode: unicode.map((text) => ({ [`k${text.codePointAt(0)}`]: text, all: text.repeat(50) })),
  long_cells: [{ a: 'x'.repeat(1_000_000) }, { a: '🌊'.repeat(250_000) }, { a: 'y' }],
  wide: [Object.fromEntries(many(1000, (n) => [`c${n}`, `${n}`])), { c7: 'alone' }],
  few_texts: many(20_000, (n) => ({ a: ['on', 'off', 'unknown'][n % 3], b: `${n % 200}` })),
  distinct: many(20_000, (n) => ({ id: `${n * 7919}-${n}`, even: n % 2 ? undefined : 'yes' })),
  sparse: many(30_000, (n) => ({ n: `${n}`, rare: n % 1000 === 999 ? `r${n}` : undefined })),
  runs: many(5_000, (n) => (n < 2500 ? { a: 'low' } : { b: 'high' })),
};

async function readWithArrow(path) {
  const table = tableFromIPC(parquetWasm.readParquet(readFileSync(path)).intoIPCStream());
  const columns = table.schema.fields.map(({ name }) => name);
  const vectors = columns.map((name) => table.getChild(name));
  const rows = many(table.numRows, (row) => vectors.map((vector) => vector.get(row)));
  return { columns, rows };
}

let server;
before(async () => {
  server = await startWith('demo', Object.fromEntries(
      Object.keys(kShapes).map((stream) => [stream, { max_body_bytes: 4 * 1024 * 1024 }])));
});

for (const [stream, sent] of Object.entries(kShapes)) {
  test(`${stream}: three readers find what was sent`, async () => {
    const landed = await server.post('demo', stream, ndjson(sent), { id: 'b-1' });
    assert.equal(landed.status, 200, landed.text.slice(0, 500));
    const columns = [...new Set(sent.flatMap((row) => Object.keys(row)))].filter(
        (name) => sent.some((row) => row[name] !== undefined));
    const expected = sent.map((row) => [...columns.map((name) => row[name] ?? null), 'b-1']);
    const path = join(server.streamFolder('demo', stream), 'data/b-1.parquet');

    for (const read of [readParquet, readWithArrow]) {
      const found = await read(path);
      assert.deepEqual(found.columns, [...columns, '_batch_id'], read.name);
      assert.equal(found.rows.length, expected.length);
      found.rows.forEach((row, index) => assert.deepEqual(row, expected[index],
                                                          `${read.name}, row ${index}`));
    }
    const counts = columns.map((name) => `count("${name}")`).join();
    const answer = await server.rows(
        'demo', `SELECT count(*), ${counts} FROM raw_extracted.stream_${stream}`);
    assert.deepEqual(answer, [[sent.length, ...columns.map(
        (name) => sent.filter((row) => typeof row[name] === 'string').length)]]);
  });
}
