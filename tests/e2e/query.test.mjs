// SQL over HTTP: formats, limits, errors; what a query may not do; and that it costs nobody else
// anything when it goes wrong.
import assert from 'node:assert/strict';
import {
  copyFileSync, readlinkSync, realpathSync, renameSync, statSync, symlinkSync,
} from 'node:fs';
import { request as httpRequest } from 'node:http';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { freshFolder, ndjson, program, start, startWith, ticksOf, until } from './harness.mjs';

const kRefusal = { status: 400, code: 'bad_request' };
let server;
before(async () => {
  server = await startWith('demo', ['weather', 'deferred']);
  await server.createKb('other');
  await server.createReceiver('other', 'secret');
  await server.land('other', 'secret', [{ a: 'theirs' }], 'secret-1');
  await server.land('demo', 'weather', [{ day: 'd1', temp: '7.5', note: '' },
                                        { day: 'd2', temp: '-3', note: null }], 'w-1');
});

const kView = 'raw_extracted.stream_weather';
const ask = (sql, members) => server.query('demo', sql, members);

async function expectProblem(answer, { status, code }) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  assert.equal(answer.json.code, code, answer.text);
  assert.ok(!answer.text.includes(server.data), `a server path in: ${answer.text}`);
  return answer.json;
}

test('JSON: columns, rows, and what was read', async () => {
  const answer = await ask(`SELECT day, TRY_CAST(temp AS DOUBLE) AS temp, note, _batch_id
                            FROM ${kView} ORDER BY day`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['strata-truncated'], undefined);
  const { read, ...rest } = answer.json;
  assert.deepEqual(rest, {
    columns: [{ name: 'day', type: 'VARCHAR' }, { name: 'temp', type: 'DOUBLE' },
              { name: 'note', type: 'VARCHAR' }, { name: '_batch_id', type: 'VARCHAR' }],
    rows: [['d1', 7.5, '', 'w-1'], ['d2', -3, null, 'w-1']],
    row_count: 2, truncated: false,
  });
  const newest = readlinkSync(join(server.kbFolder('demo'), 'knowledgebase.duckdb'));
  const { last_landed: arrival } = await server.receiver('demo', 'weather');
  assert.deepEqual(read, { generation: Number(/(\d{6})\.duckdb$/.exec(newest)[1]), files: 1,
                           newest_arrival: arrival });
});

test('JSON: values that JSON cannot hold are texts', async () => {
  const [row] = await server.rows('demo', `
      SELECT 9007199254740993, 9007199254740992, 1.50::DECIMAL(4,2), 'nan'::DOUBLE, '-inf'::FLOAT,
             DATE '2026-06-29', TIMESTAMP '2026-06-29 01:02:03.5',
             TIMESTAMPTZ '2026-06-29 01:02:03+02', [1, NULL], {'a': [true]}, '\\x00\\xFF'::BLOB,
             170141183460469231731687303715884105727::HUGEINT, NULL, 'a"b'`);
  assert.deepEqual(row, [
    '9007199254740993', 9007199254740992, '1.50', 'NaN', '-Infinity', '2026-06-29',
    '2026-06-29T01:02:03.5', '2026-06-28T23:02:03Z', [1, null], { a: [true] }, 'AP8=',
    '170141183460469231731687303715884105727', null, 'a"b',
  ]);
});

test('CSV: RFC 4180, NULL is empty and empty text is ""', async () => {
  const answer = await ask(`SELECT day, note, 'a "b",' || chr(10) || 'c' AS "q,x" FROM ${kView}
                            ORDER BY day`, { accept: 'text/csv' });
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers['content-type'], /^text\/csv; charset=utf-8/);
  assert.equal(answer.text, 'day,note,"q,x"\r\n' +
      'd1,"","a ""b"",\nc"\r\nd2,,"a ""b"",\nc"\r\n');
});

test('NDJSON: an object a row', async () => {
  const answer = await ask(`SELECT day, note, 2 AS n FROM ${kView} ORDER BY day`,
                           { accept: 'application/x-ndjson' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'], 'application/x-ndjson');
  assert.equal(answer.text, '{"day":"d1","note":"","n":2}\n{"day":"d2","note":null,"n":2}\n');
});

test('GET takes the same, and Accept is obeyed', async () => {
  const path = `/knowledgebase/demo/strata/query?sql=${encodeURIComponent('SELECT 1 AS a')}`;
  assert.deepEqual((await server.get(path)).json.rows, [[1]]);
  assert.equal((await server.get(path, { Accept: 'text/csv' })).text, 'a\r\n1\r\n');
  assert.deepEqual((await server.get(path, { Accept: 'text/html, */*;q=0.5' })).json.rows, [[1]]);
  await expectProblem(await server.get(path, { Accept: 'image/png' }),
                      { status: 406, code: 'not_acceptable' });
});

test('Accept weighs; one that no format meets says which there are', async () => {
  const ask = async (accept) => {
    const answer = await server.query('demo', 'SELECT 1 AS a', { accept });
    return [answer.status, answer.headers['content-type'].split(';')[0], answer];
  };
  for (const [accept, type] of [
    ['text/csv;q=0.5, application/x-ndjson', 'application/x-ndjson'],
    ['application/json;q=0.1, text/*;q=0.2', 'text/csv'],
    ['application/json;q=0, application/*', 'application/x-ndjson'],
    ['application/vnd.apache.parquet, text/csv;q=0.1', 'application/vnd.apache.parquet'],
    ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.stream'],
  ]) {
    assert.deepEqual((await ask(accept)).slice(0, 2), [200, type], accept);
  }
  const [, , answer] = await ask('application/xml, */*;q=0');
  const { detail } = await expectProblem(answer, { status: 406, code: 'not_acceptable' });
  assert.match(detail, /application\/json, application\/x-ndjson, text\/csv, .*arrow\.stream/);
});

test('GET: an address as browsers and programs write it', async () => {
  const path = '/knowledgebase/demo/strata/query?max_rows=2&sql=';
  const sql = "SELECT i + 1 AS n, '+%&= ü' AS t FROM range(3) r(i) ORDER BY n";
  const asForm = new URLSearchParams({ sql }).toString().slice('sql='.length);
  for (const encoded of [encodeURIComponent(sql), asForm]) {
    const { status, json, text } = await server.get(path + encoded);
    assert.equal(status, 200, text);
    assert.deepEqual([json.rows, json.truncated], [[[1, '+%&= ü'], [2, '+%&= ü']], true]);
  }
  for (const bad of ['?sql=SELECT+1&limit=5', '?sql=SELECT+1&max_rows=x', '?sql=', '?max_rows=1']) {
    const answer = await server.get(`/knowledgebase/demo/strata/query${bad}`);
    await expectProblem(answer, kRefusal);
  }
});

test('a cut answer says so in every format', async () => {
  const sql = 'SELECT i FROM range(5) t(i) ORDER BY i';
  const answers = await Promise.all(
      ['application/json', 'text/csv', 'application/x-ndjson'].map(
          (accept) => ask(sql, { accept, max_rows: 3 })));
  for (const { status, headers } of answers) {
    assert.deepEqual([status, headers['strata-truncated']], [200, 'true']);
  }
  const { rows, truncated, row_count: count } = answers[0].json;
  assert.deepEqual({ rows, truncated, count },
                   { rows: [[0], [1], [2]], truncated: true, count: 3 });
  assert.equal(answers[1].text, 'i\r\n0\r\n1\r\n2\r\n');
  assert.equal(answers[2].text, '{"i":0}\n{"i":1}\n{"i":2}\n');
  const whole = await ask(sql, { max_rows: 5 });
  assert.deepEqual([whole.json.truncated, whole.headers['strata-truncated']], [false, undefined]);
  for (const [there, members, truncated] of [
    [10_000, {}, false], [10_001, {}, true], [10_001, { max_rows: 10_001 }, false],
    [2048, { max_rows: 2048 }, false], [2049, { max_rows: 2048 }, true],
  ]) {
    const { json, headers } = await ask(`SELECT i FROM range(${there}) t(i)`, members);
    const expected = Math.min(there, members.max_rows ?? 10_000);
    assert.deepEqual([json.row_count, json.rows.length, json.truncated],
                     [expected, expected, truncated]);
    assert.equal(headers['strata-truncated'], truncated ? 'true' : undefined);
  }
  const most = await ask('SELECT 1 FROM range(1000001)',
                         { accept: 'text/csv', max_rows: 1_000_000 });
  assert.equal(most.headers['strata-truncated'], 'true');
  assert.equal(most.bytes.length, '1\r\n'.length * 1_000_001, 'the header line and a million rows');
});

test('read speaks of the streams that were read, and of no other', async () => {
  await server.createReceiver('demo', 'wind');
  for (const id of ['a', 'b']) await server.land('demo', 'wind', [{ day: 'd1' }], `wind-${id}`);
  const arrivals = {};
  for (const stream of ['weather', 'wind']) {
    arrivals[stream] = (await server.receiver('demo', stream)).last_landed;
  }
  const kWind = 'raw_extracted.stream_wind';
  for (const [sql, files, newest] of [
    [`SELECT 1 FROM ${kWind}`, 2, arrivals.wind],
    [`SELECT 1 FROM knowledgebase.RAW_EXTRACTED."Stream_Wind"`, 2, arrivals.wind],
    [`SELECT 1 FROM ${kView} JOIN ${kWind} USING (day)`, 3, arrivals.wind],
    [`WITH w AS (FROM ${kWind}) SELECT (SELECT count(*) FROM w) FROM ${kView}`, 3, arrivals.wind],
    [`SELECT '${kWind}' FROM ${kView} -- ${kWind}`, 1, arrivals.weather],
    [`SUMMARIZE ${kWind}`, 2, arrivals.wind],
    ['SELECT 1', 0, null],
  ]) {
    const { json, text } = await ask(sql);
    assert.deepEqual([json.read?.files, json.read?.newest_arrival], [files, newest], sql + text);
  }
});

test('an answer larger than a reply held in memory arrives whole', async () => {
  const members = { max_rows: 100_000 };
  const { json } = await ask("SELECT i, repeat('x', 100) AS x FROM range(50000) t(i)", members);
  assert.equal(json.row_count, 50_000);
  assert.deepEqual(json.rows.map(([i]) => i), Array.from({ length: 50_000 }, (_, i) => i));
});

const kBadRequests = [
  ['no body', undefined], ['no SQL', {}], ['empty SQL', { sql: '' }], ['SQL no text', { sql: 1 }],
  ['max_rows 0', { sql: 'SELECT 1', max_rows: 0 }],
  ['max_rows below 0', { sql: 'SELECT 1', max_rows: -1 }],
  ['max_rows over the ceiling', { sql: 'SELECT 1', max_rows: 1_000_001 }],
  ['max_rows a fraction', { sql: 'SELECT 1', max_rows: 1.5 }],
  ['max_rows a text', { sql: 'SELECT 1', max_rows: '5' }],
  ['timeout_ms 0', { sql: 'SELECT 1', timeout_ms: 0 }],
  ['timeout_ms over the ceiling', { sql: 'SELECT 1', timeout_ms: 60_001 }],
  ['an unknown member', { sql: 'SELECT 1', maxrows: 5 }],
  ['too long', { sql: `SELECT '${'x'.repeat(20 * 1024)}'` }],
  ['a NUL', { sql: 'SELECT 1\0' }],
];
test('requests that make no sense are refused', async () => {
  const path = '/knowledgebase/demo/strata/query';
  for (const [name, members] of kBadRequests) {
    const headers = { 'Content-Type': 'application/json' };
    const body = members === undefined ? '' : JSON.stringify(members);
    const answer = await server.request('POST', path, { headers, body });
    assert.deepEqual({ status: answer.status, code: answer.json.code }, kRefusal,
                     `${name}: ${answer.text}`);
  }
  for (const headers of [{}, { 'Content-Type': 'text/plain' }, { 'Content-Type': 'text/csv' }]) {
    const answer = await server.request('POST', path, { headers, body: '{"sql":"SELECT 1"}' });
    await expectProblem(answer, { status: 415, code: 'unsupported_media_type' });
  }
  await expectProblem(await server.get(path), kRefusal);
});

test('errors of the SQL name what is wrong, and no path', async () => {
  const cases = [
    ['SELECT nosuch FROM ' + kView, /nosuch/],
    ['SELEC 1', /SELEC/],
    [`SELECT * FROM ${kView} WHERE temp > 5`, /TRY_CAST\(x AS DOUBLE\)/],
    [`SELECT sum(temp) FROM ${kView}`, /TRY_CAST\(x AS DOUBLE\)/],
    [`SELECT day::INT FROM ${kView}`, /d1/],
    ["SELECT error('at /etc/hostname')", /<path>/],
    // Where it is wrong: DuckDB's line and its caret below the place.
    [`SELECT day,\n  nosuch FROM ${kView}`, /LINE 2: {3}nosuch FROM [^\n]*\n {10}\^/],
    ['SELECT 1 +', /syntax error at end of input/],
  ];
  for (const [sql, reason] of cases) {
    const { detail } = await expectProblem(await ask(sql), { status: 400, code: 'sql_error' });
    assert.match(detail, reason);
  }
});

test('a comparison or an aggregate of text says what to do', async () => {
  const kHint = /\ncells of raw streams are text: TRY_CAST\(x AS DOUBLE\)$/;
  const of = (expression) => `SELECT ${expression} FROM ${kView}`;
  const wrong = [
    'temp > 5', 'day = 5', 'temp BETWEEN 1 AND 2', 'day IN (1, 2)', 'day < DATE \'2026-01-01\'',
    'greatest(day, 1)', 'coalesce(temp, 0)', 'max(temp) > 5', 'avg(temp)', 'sum(temp)',
    'stddev(temp)', 'corr(temp, temp)', 'sum(temp) OVER ()', 'temp + 1', '-temp',
    'CASE WHEN day THEN 1 END', "day = DATE '2026-01-01'",
  ];
  for (const expression of wrong) {
    const answer = await ask(of(expression));
    const { detail } = await expectProblem(answer, { status: 400, code: 'sql_error' });
    assert.match(detail, kHint, expression);
  }
  const right = ['max(temp)', "temp > '5'", 'avg(TRY_CAST(temp AS DOUBLE))', 'count(temp)'];
  for (const expression of right) assert.equal((await ask(of(expression))).status, 200, expression);
  for (const sql of ['SELECT nosuch(1)', 'SELECT sum(DATE \'2026-01-01\')']) {
    const { detail } = await expectProblem(await ask(sql), { status: 400, code: 'sql_error' });
    assert.doesNotMatch(detail, kHint, sql);
  }
});

test('files are never read by name, the kb\'s own neither', async () => {
  const folder = server.streamFolder('demo', 'weather');
  const half = folder.length / 2;
  const spelled = `'${folder.slice(0, half)}' || '${folder.slice(half)}'`;
  for (const sql of [
    `SELECT * FROM read_parquet('${folder}/columns/*.json')`,
    `SELECT * FROM read_parquet(${spelled} || '/data/none.parquet')`,
    `SELECT * FROM read_parquet(${spelled} || '/columns/*')`,
    `SELECT * FROM read_json(${spelled} || '/data/w-1.parquet')`,
    `SELECT * FROM read_csv(${spelled} || '/data/*.parquet', columns = {'a': 'INTEGER'})`,
    `SELECT * FROM '${folder}/data/none.parquet'`,
  ]) {
    const { status, json } = await ask(sql);
    assert.deepEqual([status, json.code], [403, 'sql_refused'], `${sql}: ${json.detail}`);
    // What follows is the reader's own line.
    assert.ok(!json.detail.split('\n\nLINE ')[0].includes(server.data), json.detail);
  }
});

test('tables: unknown, not there yet, another kb\'s', async () => {
  await expectProblem(await ask('SELECT * FROM raw_extracted.stream_nosuch'),
                      { status: 404, code: 'unknown_table' });
  await expectProblem(await ask('SELECT * FROM raw_extracted.stream_secret'),
                      { status: 404, code: 'unknown_table' });
  for (const [typed, meant] of [
    ['raw_extracted.stream_wether', 'weather'], ['stream_weather', 'weather'],
    ['weather', 'weather'], ['raw_extracted.Weather', 'weather'],
    ['raw_extracted.stream_defered', 'deferred'], ['"wether"', 'weather'],
  ]) {
    const { detail } = await expectProblem(await ask(`SELECT *\nFROM ${typed}`),
                                           { status: 404, code: 'unknown_table' });
    const proposal = `does not exist!\nDid you mean "raw_extracted.stream_${meant}"?` +
        '\n\nLINE 2: FROM ';
    assert.ok(detail.includes(proposal), `${typed}: ${detail}`);
  }
  const { detail } = await expectProblem(
      await ask('SELECT * FROM raw_extracted.stream_deferred'),
      { status: 409, code: 'view_deferred' });
  assert.match(detail, /stream_deferred.*first batch/);
  await expectProblem(await server.query('nosuch', 'SELECT 1'),
                      { status: 404, code: 'unknown_knowledgebase' });
  await server.land('demo', 'deferred', [{ a: '1' }], 'first');
  assert.deepEqual(await server.rows('demo', 'SELECT a FROM raw_extracted.stream_deferred'),
                   [['1']]);
});

test('no right beyond the kb\'s files, and none to write them', async () => {
  const own = server.streamFolder('demo', 'weather');
  const theirs = join(server.streamFolder('other', 'secret'), 'data/secret-1.parquet');
  const generation = realpathSync(join(server.kbFolder('other'), 'knowledgebase.duckdb'));
  const evil = join(own, 'data/evil.parquet');
  const statements = [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')",
   
    "SELECT * FROM '/etc/passwd.csv'", "SELECT * FROM glob('/etc/*')",
    `SELECT * FROM read_parquet('${theirs}')`, `SELECT * FROM '${theirs}'`,
    `SELECT * FROM read_parquet('${own}/../../../../other/strata/streams/secret/data/*.parquet')`,
    `SELECT * FROM read_text('${server.kbFolder('demo')}/kb.json')`,
    `SELECT * FROM read_blob('${server.data}/strata.json')`,
    `COPY (SELECT 1) TO '${evil}' (FORMAT PARQUET)`, `COPY (SELECT 1) TO '/tmp/evil.csv'`,
    `EXPORT DATABASE '${own}'`, `ATTACH '${generation}' AS other`, 'DETACH knowledgebase',
    'CREATE TABLE t AS SELECT 1', `DROP VIEW ${kView}`, `INSERT INTO ${kView} VALUES (1)`,
    `DELETE FROM ${kView}`, 'INSTALL httpfs', 'LOAD httpfs', 'SET memory_limit = \'8GB\'',
    'SET enable_external_access = true', 'PRAGMA enable_profiling', 'SELECT 1; SELECT 2',
    `SELECT 1; COPY (SELECT 1) TO '${evil}'`, 'CALL pragma_version()', 'CHECKPOINT',
  ];
  for (const sql of statements) {
    const answer = await ask(sql);
    assert.deepEqual([answer.status, answer.json.code], [403, 'sql_refused'],
                     `${sql}: ${answer.text}`);
  }
  assert.equal(statSync(evil, { throwIfNoEntry: false }), undefined);
  assert.deepEqual(await server.rows('demo', `SELECT count(*) FROM ${kView}`), [[2]]);
});

const kEndless = `SELECT count(*) FROM range(10000000) a, range(10000000) b
                  WHERE a.range + b.range = -1`;
const kHuge = [
  "SELECT len(list(repeat('x', 1000) || i)) FROM range(3000000) t(i)",
  'SELECT len(range(1000000000))',
  "SELECT repeat('x', 10000) FROM range(100000)",
];

/// Runs `action`, and sees that one query more is counted as `result`, and one worker more as dead
/// of it where that is its end.
async function counted(result, action) {
  const keys = [`strata_queries_total{result="${result}"}`,
                `strata_worker_deaths_total{reason="${result}"}`];
  const read = async () => {
    const metrics = await server.metrics();
    return keys.map((key) => metrics[key] ?? 0);
  };
  const [queries, deaths] = await read();
  await action();
  assert.deepEqual(await read(), [queries + 1, result === 'ok' ? 0 : deaths + 1], result);
}

// No interrupt ends the second one.
const kSlow = [kEndless, "SELECT length(lpad('x', 1500000000, 'y'))"];

test('a query over its deadline is a 504 within 2 s of it, and the next one answers', async () => {
  for (const sql of kSlow) {
    await ask('SELECT 1');
    await counted('timeout', async () => {
      const begun = Date.now();
      const answer = await ask(sql, { timeout_ms: 300 });
      const over = Date.now() - begun - 300;
      await expectProblem(answer, { status: 504, code: 'timeout' });
      assert.ok(over >= 0 && over < 2000, `${over} ms over`);
    });
    await counted('ok', async () => assert.deepEqual(await server.rows('demo', 'SELECT 2'), [[2]]));
  }
});

test('a query that waited for a thread as long as it may run is told busy', async () => {
  const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(kEndless, { timeout_ms: 1500 })));
  const busy = answers.filter(({ status }) => status === 503);
  assert.ok(busy.length >= 4, answers.map(({ status }) => status).join(' '));
  for (const answer of answers) {
    if (answer.status === 503) {
      const { detail } = await expectProblem(answer, { status: 503, code: 'busy' });
      assert.match(detail, /within the query's 1500 ms: send it again/);
      assert.equal(answer.headers['retry-after'], '1');
    } else {
      await expectProblem(answer, { status: 504, code: 'timeout' });
    }
  }
});

test('a query over its memory is a 422, and the next one answers', {
  skip: process.env.STRATA_SANITIZED === '1' && 'sanitizers need the address space',
}, async () => {
  for (const sql of kHuge) {
    await counted('out_of_memory', async () => {
      const answer = await ask(sql, { timeout_ms: 60_000, max_rows: 1_000_000 });
      const { detail } = await expectProblem(answer, { status: 422, code: 'out_of_memory' });
      assert.match(detail, /LIMIT/);
    });
    await counted('ok', async () => assert.deepEqual(await server.rows('demo', 'SELECT 4'), [[4]]));
  }
});

test('a worker that is killed at work costs its query only', async () => {
  await ask('SELECT 1');
  const key = 'strata_worker_deaths_total{reason="killed"}';
  const earlier = (await server.metrics())[key];
  const idle = new Map(server.workers().map((pid) => [pid, ticksOf(pid)]));
  const doomed = ask(kEndless);
  const works = (pid) => ticksOf(pid) > (idle.get(pid) ?? 0) + 5;
  await until(() => server.workers().some(works), 'a worker at work');
  for (const pid of server.workers()) process.kill(pid, 'SIGKILL');
  const answer = await doomed;
  await expectProblem(answer, { status: 503, code: 'busy' });
  assert.match(answer.headers['retry-after'], /^\d+$/);
  assert.deepEqual(await server.rows('demo', 'SELECT 5'), [[5]]);
  assert.ok((await server.metrics())[key] > earlier);
});

test('an answer that fails on its way is never taken for a whole one', async () => {
  const sql = "SELECT i, repeat('x', 1000) AS x FROM range(60000) t(i)";
  const endOf = (accept) => new Promise((resolve, reject) => {
    const body = JSON.stringify({ sql, max_rows: 1_000_000 });
    const sent = httpRequest({
      host: '127.0.0.1', port: server.port, method: 'POST', agent: false,
      path: '/knowledgebase/demo/strata/query',
      headers: { 'Content-Type': 'application/json', Accept: accept },
    });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      // The worker holds the rest of 60 MB while nobody reads.
      answer.pause();
      for (const pid of server.workers()) process.kill(pid, 'SIGKILL');
      let text = '';
      answer.on('data', (bytes) => { text += bytes; });
      answer.on('error', () => {});
      const { statusCode: status } = answer;
      answer.on('close', () => resolve({ status, complete: answer.complete, text }));
      until(() => server.workers().length === 0, 'the end of the workers')
          .then(() => answer.resume(), reject);
    });
    sent.end(body);
  });
  const busy = async () => (await server.metrics())['strata_queries_total{result="busy"}'];
  for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
    const earlier = await busy();
    const { status, complete, text } = await endOf(accept);
    assert.deepEqual([status, complete], [200, false], accept);
    assert.ok(text.length < 60_000_000, accept);
    await until(async () => await busy() === earlier + 1, 'the query to be counted');
    const lines = text.split('\n');
    const told = lines.filter((line) => line.includes('_strata_error'));
    if (accept === 'application/x-ndjson') {
      assert.equal(lines.at(-1), '');
      assert.equal(typeof JSON.parse(lines.at(-2))._strata_error, 'string');
    }
    assert.equal(told.length, accept === 'application/x-ndjson' ? 1 : 0);
  }
  assert.deepEqual(await server.rows('demo', 'SELECT 5'), [[5]]);
});

test('every result is counted from the start', async () => {
  const metrics = await (await start()).metrics();
  const results = Object.entries(metrics).flatMap(([name, value]) => {
    const [, result] = /^strata_queries_total\{result="(.*)"\}$/.exec(name) ?? [];
    return result === undefined ? [] : [[result, value]];
  });
  assert.deepEqual(Object.fromEntries(results), {
    ok: 0, cancelled: 0, bad_request: 0, sql_error: 0, sql_refused: 0, unknown_table: 0,
    view_deferred: 0, not_acceptable: 0, out_of_memory: 0, busy: 0, timeout: 0,
  });
});

test('with every worker killed and none startable a query is 503 and ingest goes on', async () => {
  const folder = freshFolder();
  const copy = join(folder, 'strata');
  copyFileSync(program, copy);
  symlinkSync(realpathSync(join(dirname(program), 'libduckdb.so')), join(folder, 'libduckdb.so'));
  const own = await startWith('demo', ['viewed', 'fresh'], { program: copy });
  await own.land('demo', 'viewed', [{ a: '1' }], 'one');
  const viewed = () => own.query('demo', 'SELECT count(*) FROM raw_extracted.stream_viewed');
  assert.deepEqual((await viewed()).json.rows, [[1]]);

  renameSync(copy, `${copy}.gone`);
  for (const pid of own.workers()) process.kill(pid, 'SIGKILL');
  await until(() => own.workers().length === 0, 'the end of the workers');
  const answer = await viewed();
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.json.code, 'busy');
  assert.match(answer.headers['retry-after'], /^\d+$/);
  for (const [stream, id] of [['viewed', 'two'], ['viewed', 'three'], ['fresh', 'one']]) {
    const landed = await own.land('demo', stream, [{ a: id }], id);
    assert.equal(landed.replayed, false);
  }
  assert.equal((await own.receiver('demo', 'viewed')).rows, 3);
  const metrics = await own.metrics();
  assert.ok(metrics['strata_queries_total{result="busy"}'] >= 1);
  assert.ok(metrics['strata_worker_deaths_total{reason="spawn_failed"}'] >= 1);

  renameSync(`${copy}.gone`, copy);
  assert.deepEqual((await viewed()).json.rows, [[3]]);
  // The view that could not be made is a level, not an edge: somebody makes it now.
  assert.deepEqual(await own.rows('demo', 'SELECT a FROM raw_extracted.stream_fresh'), [['one']]);
  assert.equal((await own.receiver('demo', 'fresh')).view.state, 'ready');
  await own.stop();
});

test('closing the connection leaves the server whole', async () => {
  const aborted = new Promise((resolve) => {
    const body = JSON.stringify({ sql: kEndless, timeout_ms: 1000 });
    const socket = server.connect('POST /knowledgebase/demo/strata/query HTTP/1.1\r\n' +
        'Host: localhost\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body}`);
    socket.on('close', resolve);
    setTimeout(() => socket.destroy(), 50);
  });
  await aborted;
  assert.deepEqual(await server.rows('demo', 'SELECT 6'), [[6]]);
});

test('many at once all get their own answer', async () => {
  const numbers = Array.from({ length: 24 }, (_, n) => n);
  const answers = await Promise.all(numbers.map((n) => server.rows('demo', `SELECT ${n}`)));
  assert.deepEqual(answers, numbers.map((n) => [[n]]));
  await server.land('demo', 'weather', ndjson([{ day: 'd3' }]), 'w-2');
  assert.deepEqual(await server.rows('demo', `SELECT count(*) FROM ${kView}`), [[3]]);
});

test('SIGTERM does not wait for a long query for ever', async () => {
  const stopping = await startWith('demo', ['s']);
  const endless = stopping.query(
      'demo', 'SELECT count(*) FROM range(9999999) a, range(9999999) b WHERE a.range + b.range < 0',
      { timeout_ms: 60_000 }).catch(() => 'no answer');
  await until(() => stopping.workers().some((pid) => ticksOf(pid) > 50), 'a worker at work');
  const begun = Date.now();
  await stopping.stop();
  assert.ok(Date.now() - begun < 30_000, 'long before the query would have ended by itself');
  await endless;
});
