// POST to file to view to answer: five batches are 500 rows for everybody who looks.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readlinkSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import {
  allProcesses, commandOf, program, repository, run, startWith,
} from './harness.mjs';
import { batchFiles, countStream, readParquet } from './independent.mjs';
import { watchBelow } from './process_watch.mjs';

const kBatches = 5;
const kRowsPerBatch = 100;
const kView = 'raw_extracted.stream_readings';

const idOf = (batch) => `first-light-${batch}`;
const rowOf = (batch, n) => ({
  n: batch * kRowsPerBatch + n,
  text: `Größe "${n}", 値 😀`,
  nothing: n % 2 === 0 ? null : '',
  nested: { list: [n, null, 'x'] },
});
/// The cells of a row as they are stored, and then the batch's id.
const storedOf = (batch, n) => [
  `${batch * kRowsPerBatch + n}`, `Größe "${n}", 値 😀`, n % 2 === 0 ? null : '',
  `{"list":[${n},null,"x"]}`, idOf(batch),
];
const kBatchNumbers = Array.from({ length: kBatches }, (_, batch) => batch);
const kRowNumbers = Array.from({ length: kRowsPerBatch }, (_, n) => n);
const kStored = kBatchNumbers.flatMap((batch) => kRowNumbers.map((n) => storedOf(batch, n)));
const kColumns = ['n', 'text', 'nothing', 'nested', 'filename', '_batch_id'];

let server;
let processesBefore;
let seenBelow;

/// Processes besides ours that have a file of the root open.
function holdersOf(folder) {
  const holds = (pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => {
        const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
        return target.startsWith(`${folder}/`);
      });
    } catch {
      return false;  // it has ended meanwhile
    }
  };
  return allProcesses().filter((pid) => pid !== process.pid && holds(pid));
}

before(async () => {
  server = await startWith('demo', ['readings']);
  processesBefore = new Set(allProcesses());
  const watch = await watchBelow(server.pid);
  for (const batch of kBatchNumbers) {
    const rows = kRowNumbers.map((n) => rowOf(batch, n));
    const answer = await server.land('demo', 'readings', rows, idOf(batch));
    assert.deepEqual({ rows: answer.rows, columns: answer.columns, replayed: answer.replayed },
                     { rows: kRowsPerBatch, columns: 4, replayed: false });
  }
  const counted = await server.rows('demo', `SELECT count(*) FROM ${kView}`);
  seenBelow = await watch.end();
  assert.deepEqual(counted, [[kBatches * kRowsPerBatch]]);
});

const withFilenames = () => kStored.map((cells) => [
  ...cells.slice(0, 4), join(server.streamFolder('demo', 'readings'), `data/${cells[4]}.parquet`),
  cells[4],
]);
const byNumber = (a, b) => Number(a[0]) - Number(b[0]);

test('the watch sees a process that lives for a moment', async () => {
  const shell = spawn('sh', ['-c', 'read go; sleep 0.2; read end'],
                      { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((resolve) => { shell.on('close', resolve); });
  const watch = await watchBelow(shell.pid);
  shell.stdin.write('go\n');
  shell.stdin.end('end\n');
  await ended;
  const seen = [...(await watch.end()).values()].flat();
  assert.deepEqual(seen.filter((command) => !command.startsWith('sh ')), ['sleep 0.2']);
});

test('between POST and query no process but the server and its workers ran', () => {
  const worker = `${program} worker`;
  // A child is the server's image until it has become the worker.
  const allowed = new Set([worker, commandOf(server.pid).join(' ')]);
  assert.ok(seenBelow.size >= 1, 'no worker was seen at all');
  for (const [pid, commands] of seenBelow) {
    for (const command of commands) assert.ok(allowed.has(command), `${pid}: ${command}`);
  }
  // Nor one that left the server's family: it would have the root's files open, or its name.
  const workers = new Set(server.workers());
  const strangers = holdersOf(server.data).filter((pid) => pid !== server.pid && !workers.has(pid));
  assert.deepEqual(strangers.map(commandOf), []);
  const newcomers = allProcesses().filter((pid) => !processesBefore.has(pid) && !workers.has(pid));
  const ours = newcomers.map((pid) => commandOf(pid).join(' '))
                   .filter((command) => command.includes(server.data));
  assert.deepEqual(ours, []);
});

test('every row is there by HTTP, with its filename and _batch_id last', async () => {
  const { json } = await server.query('demo', `SELECT * FROM ${kView} ORDER BY n::INT`);
  assert.deepEqual(json.columns, kColumns.map((name) => ({ name, type: 'VARCHAR' })));
  assert.deepEqual(json.rows, withFilenames());
  assert.equal(json.row_count, 500);
  assert.equal(json.truncated, false);
  assert.equal(json.read.files, kBatches);
});

test('strata query prints 500, and the rows as CSV', async () => {
  const url = ['--url', server.url];
  const table = await run(['query', 'demo', `SELECT count(*) AS rows FROM ${kView}`, ...url]);
  assert.equal(table.code, 0, table.log);
  assert.match(table.out, /\b500\b/);
  const csv = await run(['query', 'demo',
                         `SELECT n, _batch_id FROM ${kView} ORDER BY n::INT`, '--format', 'csv',
                         ...url]);
  assert.equal(csv.code, 0, csv.log);
  const lines = kStored.map((cells) => `${cells[0]},${cells[4]}\r\n`);
  assert.equal(csv.out, ['n,_batch_id\r\n', ...lines].join(''));
});

test('an outside DuckDB client reads the same, read-only, while the server runs', async () => {
  const require = createRequire(join(repository, 'deps/package.json'));
  const { DuckDBInstance } = require('@duckdb/node-api');
  const instance = await DuckDBInstance.create(
      join(server.kbFolder('demo'), 'knowledgebase.duckdb'), { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(`SELECT * FROM ${kView} ORDER BY n::INT`);
    assert.deepEqual(reader.columnNames(), kColumns);
    assert.deepEqual(reader.getRows(), withFilenames());
    // The server goes on meanwhile, in the very file that is open here.
    assert.deepEqual(await server.rows('demo', `SELECT count(*) FROM ${kView}`), [[500]]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

test('an independent Parquet reader finds the same in the files', async () => {
  const files = batchFiles(server.streamFolder('demo', 'readings'));
  assert.equal(files.length, kBatches);
  const read = await Promise.all(files.map(readParquet));
  for (const { columns } of read) assert.deepEqual(columns, [...kColumns.slice(0, 4), '_batch_id']);
  assert.deepEqual(read.flatMap(({ rows }) => rows).sort(byNumber), kStored);
  const { files: count, rows, bytes } = await server.receiver('demo', 'readings');
  assert.deepEqual({ files: count, rows, bytes },
                   await countStream(server.streamFolder('demo', 'readings')));
});
