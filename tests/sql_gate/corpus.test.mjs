// The SQL gate from outside: what is hostile is refused or killed, with its code; what is benign
// answers as an outside client of the same file does.
import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { childrenOf, readProc, repository, until } from '../e2e/harness.mjs';
import { stateOf, unlessGone } from '../e2e/processes.mjs';
import { kKb, kSecret, linesOf, placesOf, startKnowledgebase, withPlaces }
    from './knowledgebase.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

const kHostile = linesOf('hostile.jsonl');
const kBenign = linesOf('benign.jsonl');
const kStatus = { sql_refused: 403, sql_error: 400, unknown_table: 404, out_of_memory: 422,
                  timeout: 504 };
/// Long enough for a statement that is refused, short for one that is killed.
const kTimeoutMilliseconds = 500;

let server;
let outsider;
before(async () => {
  server = await startKnowledgebase();
  const file = join(server.kbFolder(kKb), 'knowledgebase.duckdb');
  outsider = await (await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })).connect();
  await outsider.run("SET TimeZone = 'UTC'");
});

/// The hostile ones ask in each format by turns.
const kFormats = ['application/json', 'application/vnd.apache.parquet', 'application/x-ndjson',
                  'application/vnd.apache.arrow.stream', 'text/csv'];

/// Each file and folder with what a write, a removal or another file of its name would change; but
/// for the server's own checkpoints and what it stages.
const filesBelow = (folder) => readdirSync(folder, { recursive: true })
    .filter((name) => !/\/(numbers|_tmp)/.test(name)).sort()
    .map((name) => [name, statSync(join(folder, name))])
    .map(([name, { ino, size, mtimeMs, mode }]) => `${name} ${ino} ${size} ${mtimeMs} ${mode}`);

/// What the server's workers have had written to any disk.
const bytesWritten = (server) => childrenOf(server.pid)
    .map((pid) => Number(/^write_bytes: (\d+)$/m.exec(readProc(pid, 'io'))?.[1] ?? 0))
    .reduce((sum, bytes) => sum + bytes, 0);

/// What made the views wrote them; it is of no interest once it is gone.
const noZombies = (server) => until(
    () => childrenOf(server.pid).every((pid) => stateOf(pid) !== 'Z'), 'the end of the zombies');

/// The first reader of a file in a day has its time of access written, which the kernel counts
/// among the bytes that it wrote: better we than a worker.
async function readWhatWorkersRead(server) {
  await server.rows(kKb, 'SELECT 42');
  const mapped = childrenOf(server.pid).flatMap(
      (pid) => readProc(pid, 'maps').match(/\/.*(?=$)/gm) ?? []);
  const ours = readdirSync(server.data, { recursive: true })
      .map((name) => join(server.data, name));
  for (const file of new Set(['/etc/ld.so.cache', ...mapped, ...ours])) {
    unlessGone(() => {
      const open = openSync(file);
      readSync(open, Buffer.alloc(1));
      closeSync(open);
    });
  }
}

test('hostile statements are refused or killed, each with its code', async (t) => {
  await noZombies(server);
  await readWhatWorkersRead(server);
  const places = Object.values(placesOf(server));
  const pid = server.pid;
  const files = filesBelow(server.data);
  const reasons = new Set();
  const isBomb = ({ kind }) => kind === 'bomb' &&
      process.env.STRATA_SANITIZED === '1' && 'sanitizers need the address space';
  for (const [index, { kind, sql: text, expect }] of kHostile.entries()) {
    const sql = withPlaces(text, server);
    await t.test(`${kind}: ${text}`, { skip: isBomb({ kind }) }, async () => {
      const accept = kFormats[index % kFormats.length];
      const answer = await server.query(kKb, sql, { accept, timeout_ms: kTimeoutMilliseconds });
      const problem = JSON.parse(answer.text);
      assert.ok(expect.includes(problem.code), `${expect}: ${answer.text}`);
      assert.equal(answer.status, kStatus[problem.code]);
      assert.ok(!answer.text.includes(kSecret), answer.text);
      // What follows is the reader's own line.
      const [reason] = problem.detail.split('\n\nLINE ');
      assert.ok(places.some((path) => sql.includes(path)) || !reason.includes(server.data),
                reason);
      reasons.add(reason);
      assert.equal(bytesWritten(server), 0);
    });
  }
  assert.ok(kHostile.length >= 150, `${kHostile.length} statements`);
  assert.ok(reasons.size >= 60, `${reasons.size} reasons`);
  assert.deepEqual(await server.rows(kKb, 'SELECT 42'), [[42]]);
  assert.equal(server.pid, pid);
  assert.deepEqual(filesBelow(server.data), files);
});

/// A value of either client in one form: texts, null, and lists and objects of them.
function canonical(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    // Times: ours as JSON has them, theirs as DuckDB writes them.
    return value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(Z?)$/,
                         (_, day, time, zone) => `${day} ${time}${zone && '+00'}`);
  }
  // Sums of floats differ in their last digits with the order of their terms.
  if (typeof value === 'number' && !Number.isInteger(value)) return value.toPrecision(12);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(canonical);
  if (Array.isArray(value.items)) return value.items.map(canonical);
  if (Array.isArray(value.entries)) {
    return Object.fromEntries(value.entries.map(
        ({ key, value: held }) => [canonical(key), canonical(held)]));
  }
  if (value.entries !== undefined) return canonical(value.entries);
  if (value.tag !== undefined) return { [value.tag]: canonical(value.value) };
  if (value.bytes !== undefined) return Buffer.from(value.bytes).toString('base64');
  if (Object.getPrototypeOf(value) !== Object.prototype) return canonical(value.toString());
  return Object.fromEntries(Object.entries(value).map(
      ([name, held]) => [name, canonical(held)]));
}

const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();
/// The order of the rows is the statement's own only where it asks for one.
const isOrdered = (sql) => /ORDER BY[^()]*$/i.test(sql);

async function fromOutside(sql) {
  const reader = await outsider.runAndReadAll(sql);
  return { names: reader.columnNames(), rows: reader.getRows().map(canonical) };
}

test('benign statements answer as an outside client does', async (t) => {
  for (const { kind, sql } of kBenign) {
    await t.test(`${kind}: ${sql}`, async () => {
      const answer = await server.query(kKb, sql);
      assert.equal(answer.status, 200, answer.text);
      const ours = { names: answer.json.columns.map(({ name }) => name),
                     rows: answer.json.rows.map(canonical) };
      const theirs = await fromOutside(sql);
      assert.deepEqual(ours.names, theirs.names);
      if (isOrdered(sql)) assert.deepEqual(ours.rows, theirs.rows);
      else assert.deepEqual(sorted(ours.rows), sorted(theirs.rows));
    });
  }
  assert.ok(kBenign.length >= 200, `${kBenign.length} statements`);
});

test('what the gateway answers itself: SHOW TABLES, DESCRIBE, SUMMARIZE, EXPLAIN', async () => {
  const views = ['orders', 'people', 'weather'].map((name) => [`raw_extracted.stream_${name}`]);
  for (const sql of ['SHOW TABLES', 'show all tables;', 'DESCRIBE', '/* all */ SHOW TABLES -- now',
                     'SHOW TABLES FROM raw_extracted', 'SHOW TABLES FROM knowledgebase']) {
    const { json, status, text } = await server.query(kKb, sql);
    assert.equal(status, 200, `${sql}: ${text}`);
    assert.deepEqual([json.columns, json.rows], [[{ name: 'name', type: 'VARCHAR' }], views], sql);
  }
  assert.deepEqual(await server.rows(kKb, 'SHOW TABLES FROM ontology'), []);
  for (const [[name]] of [views]) {
    assert.equal((await server.query(kKb, `FROM ${name}`)).status, 200);
  }
  const summary = await server.rows(kKb, `SUMMARIZE ${views[2][0]}`);
  assert.deepEqual(summary.map(([name]) => name),
                   ['day', 'city', 'temp', 'wind', 'note', 'filename', '_batch_id']);
  for (const sql of [`EXPLAIN SELECT city FROM ${views[2][0]} WHERE temp = '1'`,
                     ` -- plan\nexplain FROM ${views[2][0]}`]) {
    const answer = await server.query(kKb, sql);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json.rows[0][1], /READ_PARQUET/);
    assert.ok(!answer.text.includes(server.data), answer.text);
  }
});

test('an error points into the statement as it was sent', async () => {
  const table = 'raw_extracted.stream_weather';
  for (const [sql, code, place] of [
    [`SELECT city,\n  nosuch FROM ${table}`, 'sql_error', '\n\nLINE 2:   nosuch FROM ' +
        `${table}\n          ^`],
    [`SELECT 1,   city::INT\nFROM ${table}`, 'sql_error', '\n\nLINE 1: SELECT 1,   city::INT\n' +
        '                        ^'],
    [`select\n\n  sum(temp) from ${table}`, 'sql_error', `\n\nLINE 3:   sum(temp) from ${table}` +
        '\n          ^'],
    ['SELECT uper(1)', 'sql_error', '\nDid you mean "upper"?\n\nLINE 1: SELECT uper(1)\n' +
        '               ^'],
    ['EXPLAIN\nSELECT nosuch', 'sql_error', '\n\nLINE 2: SELECT nosuch\n               ^'],
    ['EXPLAIN SELEC 1', 'sql_error', '\n\nLINE 1:         SELEC 1\n                ^'],
    ["SELECT 1 FROM\n 'x.csv'", 'sql_refused', "\n\nLINE 2:  'x.csv'\n         ^"],
    ['SELECT 1,\n getvariable(1)', 'sql_refused', '\n\nLINE 2:  getvariable(1)\n         ^'],
  ]) {
    const { json } = await server.query(kKb, sql);
    assert.equal(json.code, code, json.detail);
    assert.ok(json.detail.includes(place), `${JSON.stringify(json.detail)} lacks ` +
        JSON.stringify(place));
  }
});

test('nesting and length have an end, and no thread is lost to it', async () => {
  const chain = (count, part) => Array.from({ length: count }, () => part);
  for (const [sql, codes] of [
    [`SELECT ${'('.repeat(900)}1${')'.repeat(900)}`, ['ok']],
    [`SELECT 1${'+1'.repeat(90)}`, ['ok']],
    [`SELECT 1${'+1'.repeat(1100)}`, ['sql_refused', 'sql_error']],
    [chain(1000, 'SELECT 1').join(' UNION ALL '), ['ok', 'sql_refused']],
    [`SELECT ${'['.repeat(3000)}1${']'.repeat(3000)}`, ['sql_refused', 'sql_error']],
    [`${'SELECT * FROM ('.repeat(900)}SELECT 1${')'.repeat(900)}`, ['sql_refused', 'sql_error']],
    [`SELECT ${'CASE WHEN true THEN '.repeat(700)}1${' END'.repeat(700)}`,
     ['ok', 'sql_refused', 'sql_error', 'timeout']],
    [`SELECT ${chain(6000, '1').join()}`, ['ok']],
    [`SELECT '${'x'.repeat(20 * 1024)}'`, ['bad_request']],
  ]) {
    const { status, text } = await server.query(kKb, sql);
    const code = status === 200 ? 'ok' : JSON.parse(text).code;
    assert.ok(codes.includes(code), `${sql.slice(0, 60)}: ${text.slice(0, 300)}`);
  }
});
