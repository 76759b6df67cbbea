// Answers as Parquet and as an Arrow IPC stream: what readers that share nothing with us (DuckDB
// outside, Arrow's JavaScript) see in them is what the JSON answer says, value by value.
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { childrenOf, freshFolder, startWith } from './harness.mjs';
import { readParquet } from './independent.mjs';

const require = createRequire(new URL('../../deps/package.json', import.meta.url));
const parquetWasm = require('parquet-wasm');
const { tableFromIPC } = require('apache-arrow');
const { DuckDBInstance } = require('@duckdb/node-api');

const kParquet = 'application/vnd.apache.parquet';
const kArrow = 'application/vnd.apache.arrow.stream';
const kFormats = [kParquet, kArrow];

let server;
let outside;
let folder;
before(async () => {
  server = await startWith('demo', ['weather']);
  await server.land('demo', 'weather', [{ day: 'd1', temp: '7.5' }, { day: 'd2', temp: null }],
                    'w-1');
  outside = await (await DuckDBInstance.create(':memory:')).connect();
  folder = freshFolder();
});

const ask = (sql, accept, members = {}) => server.query('demo', sql, { accept, ...members });

async function bytesOf(sql, accept, members) {
  const answer = await ask(sql, accept, members);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'], accept);
  return answer.bytes;
}

/// The answer as a file whose name is new: DuckDB believes that a name it knows did not change.
let files = 0;
function fileOf(bytes) {
  const file = join(folder, `${files += 1}.parquet`);
  writeFileSync(file, bytes);
  return file;
}

/// What `sql` finds in the Parquet answer, where it is called {answer}.
const inParquet = async (bytes, sql) =>
  (await outside.run(sql.replace('{answer}', `'${fileOf(bytes)}'`))).getRows();

const namesOf = (table) => table.schema.fields.map(({ name }) => name);

/// Each value as both formats have it: the expression; type and text in the Parquet file, by
/// DuckDB; type and value in the Arrow stream.
const kValues = [
  ['true', 'BOOLEAN', 'true', 'Bool', true],
  ['(-128)::TINYINT', 'TINYINT', '-128', 'Int8', -128],
  ['65535::USMALLINT', 'USMALLINT', '65535', 'Uint16', 65535],
  ['(-2147483648)::INTEGER', 'INTEGER', '-2147483648', 'Int32', -2147483648],
  ['9223372036854775807', 'BIGINT', '9223372036854775807', 'Int64', 9223372036854775807n],
  ['18446744073709551615::UBIGINT', 'UBIGINT', '18446744073709551615', 'Uint64',
   18446744073709551615n],
  ['1.5::FLOAT', 'FLOAT', '1.5', 'Float32', 1.5],
  ['0.1::DOUBLE', 'DOUBLE', '0.1', 'Float64', 0.1],
  ["'-infinity'::DOUBLE", 'DOUBLE', '-inf', 'Float64', -Infinity],
  ["'te\"xt, ü🌊'", 'VARCHAR', 'te"xt, ü🌊', 'Utf8', 'te"xt, ü🌊'],
  ["''", 'VARCHAR', '', 'Utf8', ''],
  ["'\\x00\\xFF'::BLOB", 'BLOB', '\\x00\\xFF', 'Binary', new Uint8Array([0, 255])],
  ["'7e2a3b10-0000-4000-8000-000000000001'::UUID", 'UUID', '7e2a3b10-0000-4000-8000-000000000001',
   'Utf8', '7e2a3b10-0000-4000-8000-000000000001'],
  ["DATE '2026-06-29'", 'DATE', '2026-06-29', 'Date32<DAY>', Date.UTC(2026, 5, 29)],
  ["TIME '01:02:03.000004'", 'TIME', '01:02:03.000004', 'Time64<MICROSECOND>', 3723000004n],
  ["TIMESTAMP_S '2026-06-29 01:02:03'", 'TIMESTAMP', '2026-06-29 01:02:03', 'Timestamp<SECOND>',
   Date.UTC(2026, 5, 29, 1, 2, 3)],
  ["TIMESTAMP '2026-06-29 01:02:03.5'", 'TIMESTAMP', '2026-06-29 01:02:03.5',
   'Timestamp<MICROSECOND>', Date.UTC(2026, 5, 29, 1, 2, 3, 500)],
  ["TIMESTAMPTZ '2026-06-29 01:02:03+02'", 'TIMESTAMP WITH TIME ZONE', '2026-06-28 23:02:03+00',
   'Timestamp<MICROSECOND, UTC>', Date.UTC(2026, 5, 28, 23, 2, 3)],
  ["TIMESTAMP_NS '2026-06-29 01:02:03.123456789'", 'TIMESTAMP_NS', '2026-06-29 01:02:03.123456789',
   'Timestamp<NANOSECOND>', undefined],
  ["'{\"a\":1}'::JSON", 'JSON', '{"a":1}', 'Utf8', '{"a":1}'],
  ['NULL::VARCHAR', 'VARCHAR', null, 'Utf8', null],
  ["[1, NULL, 3]", 'INTEGER[]', '[1, NULL, 3]', 'List<Int32>', [1, null, 3]],
  ["[]::VARCHAR[]", 'VARCHAR[]', '[]', 'List<Utf8>', []],
  ["[[1.5], NULL, []]", 'DECIMAL(2,1)[][]', '[[1.5], NULL, []]', 'List<List<Decimal[2e+1]>>',
   undefined],
  ["[1, 2]::INTEGER[2]", 'INTEGER[]', '[1, 2]', 'FixedSizeList[2]<Int32>', [1, 2]],
  ["{'a': 1, 'b c': 'x'}", 'STRUCT(a INTEGER, "b c" VARCHAR)', "{'a': 1, 'b c': x}",
   'Struct<{a:Int32, b c:Utf8}>', { a: 1, 'b c': 'x' }],
  ["MAP {'k': 7}", 'MAP(VARCHAR, INTEGER)', '{k=7}', 'Map<{key:Utf8, value:Int32}>', { k: 7 }],
  // What neither format would hold unchanged comes as the nearest that is exact.
  ['12345678901234567890123456789012345678::HUGEINT', 'DECIMAL(38,0)',
   '12345678901234567890123456789012345678', 'Decimal[38e0]', undefined],
  ['7::UHUGEINT', 'DECIMAL(38,0)', '7', 'Decimal[38e0]', undefined],
  ["INTERVAL '1 year 2 days 3.000004 seconds'", 'VARCHAR', '1 year 2 days 00:00:03.000004', 'Utf8',
   '1 year 2 days 00:00:03.000004'],
  ["'12:00:00.5+02'::TIMETZ", 'VARCHAR', '12:00:00.5+02', 'Utf8', '12:00:00.5+02'],
  ["'10110'::BIT", 'VARCHAR', '10110', 'Utf8', '10110'],
  ["'99999999999999999999999999999999999999999'::BIGNUM", 'VARCHAR',
   '99999999999999999999999999999999999999999', 'Utf8',
   '99999999999999999999999999999999999999999'],
  ["'b'::ENUM('a', 'b')", 'VARCHAR', 'b', 'Utf8', 'b'],
  ["{'o': [{'i \"n': 5::HUGEINT}], 'p': MAP {'x': INTERVAL 1 DAY}}",
   'STRUCT(o STRUCT("i ""n" DECIMAL(38,0))[], p MAP(VARCHAR, VARCHAR))',
   "{'o': [{'i \"n': 5}], 'p': {x=1 day}}",
   'Struct<{o:List<Struct<{i "n:Decimal[38e0]}>>, p:Map<{key:Utf8, value:Utf8}>}>', undefined],
  ["{'a': [1, 2]::INTEGER[2]}", 'STRUCT(a INTEGER[])', "{'a': [1, 2]}",
   'Struct<{a:FixedSizeList[2]<Int32>}>', undefined],
  ["[INTERVAL 1 DAY]::INTERVAL[1]", 'VARCHAR[]', '[1 day]', 'FixedSizeList[1]<Utf8>', ['1 day']],
];

function plain(value) {
  if (value instanceof Uint8Array || value === null || typeof value !== 'object') return value;
  return typeof value.toJSON === 'function' ? JSON.parse(JSON.stringify(value)) : value;
}

for (const [expression, type, text, arrowType, arrowValue] of kValues) {
  test(`a value as Parquet and as Arrow: ${expression}`, async () => {
    const value = `(${expression}, 'beside')`;
    const sql = `SELECT * FROM (VALUES ${value}, (NULL, 'beside'), ${value}) t(v, w)`;
    const bytes = await bytesOf(sql, kParquet);
    const rows = await inParquet(bytes, 'SELECT typeof(v), v::VARCHAR, w FROM {answer}');
    assert.deepEqual(rows, [text, null, text].map((value) => [type, value, 'beside']));
    // Arrow's reader in Rust finds the NULL in the same place.
    const file = tableFromIPC(parquetWasm.readParquet(bytes).intoIPCStream()).getChild('v');
    assert.deepEqual([0, 1, 2].map((row) => file.get(row) === null),
                     [text === null, true, text === null]);

    const table = tableFromIPC(await bytesOf(sql, kArrow));
    assert.deepEqual([table.numRows, namesOf(table)], [3, ['v', 'w']]);
    const values = table.getChild('v');
    assert.equal(`${values.type}`, arrowType);
    assert.equal(values.get(1), null);
    for (const row of [0, 2]) {
      if (arrowValue !== undefined) assert.deepEqual(plain(values.get(row)), arrowValue);
      assert.equal(table.getChild('w').get(row), 'beside');
    }
  });
}

test('a landed stream: the rows of the JSON answer, in their order, over many chunks', async () => {
  const sql = `SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'text ' || i END AS t,
                      CASE WHEN i % 2 = 0 THEN [i, NULL] END AS l, w._batch_id
               FROM range(7000) r(i), raw_extracted.stream_weather w WHERE w.temp IS NOT NULL
               ORDER BY i DESC`;
  const { json } = await server.query('demo', sql);
  assert.equal(json.row_count, 7000);
  const parquet = await inParquet(await bytesOf(sql, kParquet),
                                  'SELECT i::INT, t, l::VARCHAR, _batch_id FROM {answer}');
  assert.deepEqual(parquet, json.rows.map(([i, t, l, id]) => [
    i, t, l === null ? null : `[${l[0]}, NULL]`, id]));

  const table = tableFromIPC(await bytesOf(sql, kArrow));
  assert.equal(table.batches.length > 1, true, 'one record batch a chunk');
  const columns = namesOf(table).map((name) => table.getChild(name));
  const rows = json.rows.map((_, row) => columns.map((column) => {
    const value = column.get(row);
    if (typeof value === 'bigint') return Number(value);
    return value?.toJSON ? [...value].map((item) => (item === null ? null : Number(item))) : value;
  }));
  assert.deepEqual(rows, json.rows);
  assert.equal(table.getChild('t').nullCount, 2334);
});

test('cut where it is asked to be, and says so', async () => {
  for (const accept of kFormats) {
    for (const [rows, cut] of [[1, 'true'], [3000, 'true'], [5000, undefined]]) {
      const answer = await ask('FROM range(5000)', accept, { max_rows: rows });
      assert.deepEqual([answer.status, answer.headers['strata-truncated']], [200, cut]);
      const seen = accept === kArrow
        ? tableFromIPC(answer.bytes).numRows
        : Number((await inParquet(answer.bytes, 'SELECT count(*) FROM {answer}'))[0][0]);
      assert.equal(seen, rows);
    }
  }
});

test('no rows: the columns are there', async () => {
  const sql = 'SELECT day, 1 AS n FROM raw_extracted.stream_weather WHERE false';
  const rows = await inParquet(await bytesOf(sql, kParquet),
                               'SELECT column_name, column_type FROM (DESCRIBE FROM {answer})');
  assert.deepEqual(rows, [['day', 'VARCHAR'], ['n', 'INTEGER']]);
  const table = tableFromIPC(await bytesOf(sql, kArrow));
  assert.deepEqual([table.numRows, namesOf(table)], [0, ['day', 'n']]);
});

test('columns of one name: told apart where the format needs it', async () => {
  const sql = 'SELECT 1 AS a, 2 AS a, 3 AS "A", 4 AS a_1';
  const file = fileOf(await bytesOf(sql, kParquet));
  assert.deepEqual(await readParquet(file).then(({ columns, rows }) => [columns, rows]),
                   [['a', 'a_2', 'A_3', 'a_1'], [[1, 2, 3, 4]]]);
  assert.deepEqual(namesOf(tableFromIPC(await bytesOf(sql, kArrow))), ['a', 'a', 'A', 'a_1']);
});

test('the operations of the gateway answer in both', async () => {
  for (const [sql, column] of [['EXPLAIN SELECT 1::HUGEINT', 'explain_key'],
                               ['SHOW TABLES', 'name'],
                               ['SUMMARIZE raw_extracted.stream_weather', 'column_name'],
                               ['SELECT "table" FROM _strata_manifest', 'table']]) {
    const table = tableFromIPC(await bytesOf(sql, kArrow));
    const first = table.getChild(column).get(0);
    const [[inFile]] = await inParquet(await bytesOf(sql, kParquet),
                                       `SELECT "${column}" FROM {answer}`);
    assert.deepEqual([typeof first, inFile], ['string', first], sql);
  }
});

test('what cannot be written whole is an error, never a part', async () => {
  const cases = [
    [`SELECT i, CAST(CASE WHEN i = 199999 THEN 'x' ELSE '1' END AS INTEGER) AS n
      FROM range(200000) r(i)`,
     400, 'sql_error', /Could not convert string 'x'.*\n.*LINE 1: SELECT i, CAST/s],
    ['SELECT 170141183460469231731687303715884105727::HUGEINT AS h', 400, 'sql_error',
     /to DECIMAL\(38,0\) when casting from source column h$/],
    ['SELECT row(1, 2) AS r', 400, 'sql_error', /column "r": .*name its fields/],
    ["SELECT {'h': 1::HUGEINT, 'r': [row(1, 2)]} AS r", 400, 'sql_error', /name its fields/],
    ['SELECT union_value(n := 2) AS u', 400, 'sql_error', /column "u": .*union_extract/],
    ['SELECT nosuch', 400, 'sql_error', /nosuch/],
    ['SELECT * FROM strata_answer()', 403, 'sql_refused', /strata_answer/],
    ['SELECT * FROM raw_extracted.stream_none', 404, 'unknown_table', /none/],
  ];
  for (const accept of kFormats) {
    for (const [sql, status, code, detail] of cases) {
      const answer = await ask(sql, accept, { max_rows: 1_000_000, timeout_ms: 60_000 });
      assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
      assert.match(answer.json.detail, detail);
      assert.ok(!answer.text.includes(server.data), answer.text);
    }
    assert.equal((await ask('SELECT 1', accept)).status, 200, 'and the next one answers');
  }
});

// One of the engine's threads fails and interrupts the one that is read from.
test('a statement that fails in the middle is never told as one that took too long', async () => {
  const sql = `SELECT i, CAST(CASE WHEN i = 199999 THEN 'x' ELSE '1' END AS INTEGER) AS n
               FROM range(200000) r(i)`;
  for (const accept of ['application/json', ...kFormats]) {
    const codes = new Set();
    for (let n = 0; n < 25; ++n) {
      codes.add((await ask(sql, accept, { max_rows: 1_000_000, timeout_ms: 60_000 })).json.code);
    }
    assert.deepEqual([...codes], ['sql_error'], accept);
  }
});

test('larger than a query may be: told so, and the worker lives on', {
  skip: process.env.STRATA_SANITIZED === '1' && 'sanitizers need the address space',
}, async () => {
  for (const [accept, sql] of [
    // More than an answer may be, a text column of 2 GiB in one chunk, more than a file may be.
    [kArrow, 'SELECT md5(i::VARCHAR) || repeat(md5(i::VARCHAR), 40) AS t FROM range(600000) r(i)'],
    [kArrow, "SELECT s FROM (SELECT repeat('x', 400000) AS s), range(2100)"],
    [kParquet, `SELECT ${Array.from({ length: 75 }, (_, n) => `hash(i + ${n}000000) AS c${n}`)}
                FROM range(1000000) r(i)`],
  ]) {
    const answer = await ask(sql, accept, { max_rows: 1_000_000, timeout_ms: 60_000 });
    assert.deepEqual([answer.status, answer.json.code], [422, 'out_of_memory'], answer.text);
    assert.equal((await ask('SELECT 1', accept)).status, 200);
  }
  // As large as the other formats take it.
  const large = 'SELECT repeat(md5(i::VARCHAR), 312) AS s FROM range(20000) r(i)';
  for (const accept of kFormats) {
    assert.equal((await ask(large, accept, { max_rows: 1_000_000 })).status, 200, accept);
  }
});

test('an answer that failed keeps no memory', async () => {
  const late = `SELECT repeat(md5(i::VARCHAR), 20) AS t,
                       CAST(CASE WHEN i = 99999 THEN 'x' ELSE '1' END AS INTEGER) AS n
                FROM range(100000) r(i)`;
  assert.equal((await ask(late, kParquet, { max_rows: 1_000_000 })).status, 400);
  const answers = childrenOf(server.pid).flatMap((pid) => readdirSync(`/proc/${pid}/fd`)
      .filter((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('/memfd:answer'))
      .map((fd) => statSync(`/proc/${pid}/fd/${fd}`).size));
  assert.ok(answers.length > 0, 'workers have answer files');
  assert.deepEqual([...new Set(answers)], [0]);
});
