// Polars, ClickHouse (chdb) and Spark read a landed stream in place and see what the view shows.
// They come from PyPI: the first run fetches them into a virtual environment of their own; where
// they are out of reach this is skipped and says so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { output } from '../../bench/processes.mjs';
import { pythonEnvironment } from '../../bench/python.mjs';
import { startWith } from '../e2e/harness.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
let python;
/// Why the packages are missing; nothing where they are there.
const whyMissing = () => pythonEnvironment({
  name: 'strata-readers-venv',
  place: process.env.READERS_VENV,
  imports: 'import chdb, polars, pyspark',
  requirements: join(here, 'requirements.txt'),
}).then((environment) => { python = environment.python; },
        (error) => `the packages are not to be had: ${error.message.trim().split('\n').at(-1)}`);

let server;
let missing;
before(async () => {
  missing = await whyMissing();
  server = await startWith('demo', ['s']);
  const batches = [
    [{ a: '1', b: 'x' }, { a: '2', b: null }],
    [{ a: '3', c: 'new' }, {}],
    [{ a: '', 'ä ö': 'ü🌊 "quoted"' }, { c: '1e999' }],
    Array.from({ length: 5000 }, (_, n) => ({ a: `${n}`, b: ['on', 'off'][n % 2] })),
  ];
  for (const [n, rows] of batches.entries()) await server.land('demo', 's', rows, `batch-${n}`);
});

const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();

for (const reader of ['polars', 'clickhouse', 'spark']) {
  test(`${reader} reads a stream in place`, async (t) => {
    const java = reader === 'spark' && spawnSync('java', ['-version']).status !== 0;
    const why = missing ?? (java ? 'Spark needs Java, which is not there' : undefined);
    if (why) {
      assert.ok(process.env.STRATA_REQUIRE_ALL !== '1', why);
      t.skip(why);
      return;
    }
    const folder = join(server.streamFolder('demo', 's'), 'data');
    const lines = (await output(python, [join(here, 'read.py'), reader, folder]))
        .trim().split('\n').map((line) => JSON.parse(line));
    const [columns, ...rows] = lines;
    const list = columns.map((name) => `"${name}"`).join(', ');
    const view = await server.query(
        'demo', `SELECT ${list} FROM raw_extracted.stream_s`, { max_rows: 100_000 });
    assert.equal(view.status, 200, view.text);
    assert.deepEqual(columns.toSorted(), ['_batch_id', 'a', 'b', 'c', 'ä ö']);
    assert.equal(rows.length, 5006);
    assert.deepEqual(sorted(rows), sorted(view.json.rows));
  });
}
