// Polars, ClickHouse (chdb) and Spark read a landed stream in place and see what the view shows.
// They come from PyPI: the first run fetches them into a virtual environment of their own; where
// they are out of reach this is skipped and says so.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startWith } from '../e2e/harness.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const venv = process.env.READERS_VENV || join(cache, 'strata-readers-venv');
const python = join(venv, 'bin/python');
const output = async (program, args) =>
  (await promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 })).stdout;

async function whyMissing() {
  const imports = 'import chdb, polars, pyspark';
  try {
    await output(python, ['-c', imports]);
    return undefined;
  } catch { /* not there yet */ }
  try {
    await output('python3', ['-m', 'venv', venv]);
    await output(python, ['-m', 'pip', 'install', '--quiet', '-r',
                          join(here, 'requirements.txt')]);
    await output(python, ['-c', imports]);
    return undefined;
  } catch (error) {
    return `the packages are not to be had: ${error.message.trim().split('\n').at(-1)}`;
  }
}

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
