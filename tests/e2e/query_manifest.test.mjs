// What there is to query: `_strata_manifest` in SQL, and the schema for an editor's completion.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { start, startWith, until } from './harness.mjs';

let server;
before(async () => {
  server = await startWith('demo', {
    weather: {}, later: { columns: ['ts', 'Value'] }, strata_manifest: {},
  });
  await server.land('demo', 'weather', [{ day: 'd1', temp: '1' }, { day: 'd2' }], 'w-1');
  await server.createKb('other');
  await server.createReceiver('other', 'theirs');
});

const kTable = {
  later: ['raw_extracted.stream_later', 'stream:later', null, 'deferred'],
  manifest: ['raw_extracted.stream_strata_manifest', 'stream:strata_manifest', null, 'deferred'],
  weather: ['raw_extracted.stream_weather', 'stream:weather', 2, 'ready'],
};
const kRows = Object.values(kTable);

test('_strata_manifest is the Tables panel as a table', async () => {
  const answer = await server.query('demo', 'SELECT * FROM _strata_manifest ORDER BY "table"');
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.columns.map(({ name, type }) => [name, type]), [
    ['table', 'VARCHAR'], ['source', 'VARCHAR'], ['rows', 'BIGINT'], ['state', 'VARCHAR'],
  ]);
  assert.deepEqual(answer.json.rows, kRows);
  const { files, newest_arrival: newest } = answer.json.read;
  assert.deepEqual({ files, newest }, { files: 0, newest: null }, 'no stream was read');
  const { json: { tables } } = await server.get('/knowledgebase/demo/strata/tables');
  assert.deepEqual(tables.map(({ table, source, rows = null, state }) =>
    [table, source, rows, state]), kRows);
});

test('_strata_manifest in every place a table can be', async () => {
  const cases = [
    ['FROM main._STRATA_MANIFEST ORDER BY "table"', kRows],
    ['WITH m AS (SELECT * FROM _strata_manifest) SELECT count(*) FROM m', [[3]]],
    [`SELECT m.rows, count(*) FROM _strata_manifest m, raw_extracted.stream_weather w
      WHERE m."table" = 'raw_extracted.stream_weather' GROUP BY 1`, [[2, 2]]],
    [`SELECT day, (SELECT sum(rows) FROM _strata_manifest) FROM raw_extracted.stream_weather
      ORDER BY day`, [['d1', '2'], ['d2', '2']]],
    ['SELECT state FROM _strata_manifest UNION SELECT state FROM _strata_manifest ORDER BY 1',
     [['deferred'], ['ready']]],
    ['WITH _strata_manifest AS (SELECT 7 AS x) SELECT x FROM _strata_manifest', [[7]]],
    ["SELECT '_strata_manifest'", [['_strata_manifest']]],
  ];
  for (const [sql, rows] of cases) assert.deepEqual(await server.rows('demo', sql), rows, sql);
  assert.deepEqual((await server.rows('demo', 'DESCRIBE _strata_manifest')).map(([name]) => name),
                   ['table', 'source', 'rows', 'state']);
  // Each kb has its own, and workers keep nothing of another query's.
  assert.deepEqual((await server.rows('other', 'SELECT source FROM _strata_manifest')),
                   [['stream:theirs']]);
  const hidden = await server.query('demo', 'FROM raw_extracted._strata_manifest');
  assert.deepEqual([hidden.status, hidden.json.code], [404, 'unknown_table'], hidden.text);
  const write = await server.query('demo', 'INSERT INTO _strata_manifest SELECT 1');
  assert.deepEqual([write.status, write.json.code], [403, 'sql_refused'], write.text);
});

test('_strata_manifest is as fresh as the query, and hides no stream', async () => {
  const sql = `SELECT rows, state FROM _strata_manifest WHERE source = 'stream:strata_manifest'`;
  assert.deepEqual(await server.rows('demo', sql), [[null, 'deferred']]);
  await server.land('demo', 'strata_manifest', [{ a: '1' }], 'one');
  assert.deepEqual(await server.rows('demo', sql), [[1, 'ready']]);
  await server.land('demo', 'strata_manifest', [{ a: '2' }], 'two');
  assert.deepEqual(await server.rows('demo', sql), [[2, 'ready']]);
  assert.deepEqual(
      await server.rows('demo', 'SELECT a FROM raw_extracted.stream_strata_manifest ORDER BY a'),
      [['1'], ['2']]);
});

test('the schema: schemas, views and columns, with the columns of its view', async () => {
  const schema = async () => {
    const answer = await server.get('/knowledgebase/demo/strata/schema');
    assert.equal(answer.status, 200, answer.text);
    const { schemas } = answer.json;
    assert.deepEqual(schemas.map(({ name }) => name), ['main', 'ontology', 'raw_extracted']);
    return Object.fromEntries(schemas.map(({ name, views }) => [name, views]));
  };
  const text = (names) => names.map((name) => ({ name, type: 'VARCHAR' }));
  const first = await schema();
  assert.deepEqual(first.main, [{
    name: '_strata_manifest', state: 'ready',
    columns: [...text(['table', 'source']), { name: 'rows', type: 'BIGINT' }, ...text(['state'])],
  }]);
  assert.deepEqual(first.ontology, []);
  const byName = (views) => Object.fromEntries(views.map(({ name, ...rest }) => [name, rest]));
  assert.deepEqual(byName(first.raw_extracted), {
    stream_later: { state: 'deferred', columns: text(['ts', 'Value', 'filename', '_batch_id']) },
    stream_strata_manifest: { state: 'ready', columns: text(['a', 'filename', '_batch_id']) },
    stream_weather: {
      state: 'ready', columns: text(['day', 'temp', 'filename', '_batch_id']),
    },
  });
  await server.land('demo', 'weather', [{ wind: '3' }], 'w-2');
  const weather = (await schema()).raw_extracted.find(({ name }) => name === 'stream_weather');
  assert.deepEqual(weather.columns.map(({ name }) => name),
                   await server.columns('demo', 'weather'));
  const unknown = await server.get('/knowledgebase/nosuch/strata/schema');
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'unknown_knowledgebase']);
});

test('another process on the same data knows it all too', async () => {
  const second = await start({ data: server.data });
  await server.createReceiver('demo', 'shared');
  const known = "SELECT rows, state FROM _strata_manifest WHERE source = 'stream:shared'";
  assert.deepEqual(await second.rows('demo', known), [[null, 'deferred']]);
  await server.createReceiver('demo', 'unmet');
  for (const id of ['a', 'b']) await server.land('demo', 'unmet', [{ a: '1' }], id);
  const sql = 'SELECT count(*) FROM raw_extracted.stream_unmet';
  assert.deepEqual(await second.rows('demo', sql), [[2]]);
  // Rows at once; another process's counts with its next checkpoint.
  const { last_landed: newest } = await server.receiver('demo', 'unmet');
  const { read } = await until(async () => {
    const { json } = await second.query('demo', sql);
    return json.read.files === 2 && json;
  }, 'the count of the other process');
  assert.equal(read.newest_arrival, newest);
  await second.stop();
});
