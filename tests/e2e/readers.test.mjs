// Readers while batches land and generations come: every answer right, no lock taken by a query.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRequire } from 'node:module';
import { freshFolder, missing, repository, startWith } from './harness.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

const kKb = 'demo';
const kPosts = 1000;
const kRowsPerPost = 3;
const kStreams = 200;

const acquisitions = (metrics) => Object.entries(metrics)
    .filter(([name]) => name.startsWith('strata_lock_acquisitions_total'))
    .reduce((sum, [, value]) => sum + value, 0);
const generationOf = (metrics) => metrics[`strata_generation{kb="${kKb}"}`];

/// `readers` loops of `read` until `work` has ended.
async function whileReading(readers, read, work) {
  let done = false;
  const loops = Array.from({ length: readers }, async (_, n) => {
    let count = 0;
    while (!done) {
      await read(n);
      ++count;
    }
    return count;
  });
  try {
    await work();
  } finally {
    done = true;
  }
  return Promise.all(loops);
}

test('a thousand batches under four readers: right answers, one lock, one generation', async () => {
  const server = await startWith(kKb, ['busy']);
  const before = await server.metrics();
  const rows = Array.from({ length: kRowsPerPost }, (_, n) => ({ n }));
  let sent = 1;
  let acknowledged = 1;
  await server.land(kKb, 'busy', rows, 'b0');
  const read = async () => {
    const least = acknowledged;
    const [[count, distinct]] = await server.rows(
        kKb, 'SELECT count(*), count(DISTINCT _batch_id) FROM raw_extracted.stream_busy');
    const most = sent;
    assert.equal(count, distinct * kRowsPerPost);
    assert.ok(least <= distinct && distinct <= most, `${least} <= ${distinct} <= ${most}`);
  };
  const counts = await whileReading(4, read, async () => {
    while (sent < kPosts) {
      const id = `b${sent++}`;
      await server.land(kKb, 'busy', rows, id);
      ++acknowledged;
    }
  });
  assert.ok(counts.every((count) => count > 0));
  const after = await server.metrics();
  assert.equal(acquisitions(after) - acquisitions(before), 1);
  assert.equal(generationOf(after) - generationOf(before), 1);
});

test('a worker never opens the lock', { skip: missing('/usr/bin/strace') }, async () => {
  const server = await startWith(kKb, ['s']);
  await server.land(kKb, 's', [{ a: 1 }], 'b');
  await server.rows(kKb, 'SELECT * FROM raw_extracted.stream_s');
  const trace = join(freshFolder(), 'trace');
  const workers = server.workers().flatMap((pid) => ['-p', String(pid)]);
  const options = ['-f', '-e', 'trace=open,openat,fcntl', '-o', trace, ...workers];
  const strace = spawn('strace', options, { stdio: 'ignore' });
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (let n = 0; n < 5; ++n) await server.rows(kKb, 'SELECT * FROM raw_extracted.stream_s');
  const ended = new Promise((resolve) => strace.on('exit', resolve));
  strace.kill('SIGINT');
  await ended;
  const lines = readFileSync(trace, 'utf8').split('\n');
  assert.ok(lines.some((line) => line.includes('/data/b.parquet')), 'the trace saw the reads');
  assert.deepEqual(lines.filter((line) => line.includes('.lock')), []);
});

test('two hundred generations under attaching readers and an outside client', async () => {
  const server = await startWith(kKb, ['s0']);
  await server.land(kKb, 's0', [{ a: 'x' }], 'b');
  const first = generationOf(await server.metrics());
  const newest = [0, 0, 0, 0];
  const read = async (n) => {
    if (n === 4) return readOutside();
    const answer = await server.query(kKb, 'SELECT a FROM raw_extracted.stream_s0');
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.rows, [['x']]);
    const { generation } = answer.json.read;
    assert.ok(generation >= newest[n], `backward: ${generation} after ${newest[n]}`);
    newest[n] = generation;
  };
  let outsideTables = 0;
  const readOutside = async () => {
    const instance = await DuckDBInstance.create(
        join(server.kbFolder(kKb), 'knowledgebase.duckdb'), { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    const views = await connection.runAndReadAll(
        "SELECT count(*)::INT FROM duckdb_views() WHERE schema_name = 'raw_extracted'");
    const rows = await connection.runAndReadAll('SELECT a FROM raw_extracted.stream_s0');
    connection.closeSync();
    instance.closeSync();
    assert.deepEqual(rows.getRows(), [['x']]);
    const [[tables]] = views.getRows();
    assert.ok(tables >= outsideTables, `backward: ${tables} views after ${outsideTables}`);
    outsideTables = tables;
  };
  const counts = await whileReading(5, read, async () => {
    for (let n = 1; n <= kStreams; ++n) {
      await server.createReceiver(kKb, `s${n}`);
      await server.land(kKb, `s${n}`, [{ a: n }], 'b');
    }
  });
  assert.ok(counts.every((count) => count > 0));
  assert.equal(generationOf(await server.metrics()), first + kStreams);
  assert.deepEqual(await server.rows(kKb, `SELECT a FROM raw_extracted.stream_s${kStreams}`),
                   [[String(kStreams)]]);
});
