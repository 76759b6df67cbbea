// The door of ingest and query: compressed bodies, dry runs, what each usual slip is told, and
// queries that end with their client.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { sha256 } from './checker.mjs';
import { ndjson, startWith, ticksOf, until } from './harness.mjs';

const kIngest = '/knowledgebase/demo/strata/ingest';
const kMebibyte = 1024 * 1024;

let server;
before(async () => {
  server = await startWith('demo', {
    coded: {}, dry: {}, slips: {}, wide: {}, fixed: { columns: ['a', 'b'] }, asked: {},
    small: { max_body_bytes: 1000 },
  });
});

function expectProblem(answer, status, code, detail = /./) {
  assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
  assert.match(answer.json.detail, detail);
  assert.ok(!answer.text.includes(server.data), 'no server path');
}

/// Every file below the stream's folder, with what is in it: what a dry run must not change.
function everything(stream) {
  const folder = server.streamFolder('demo', stream);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files.filter((entry) => entry.isFile()).map((entry) => join(entry.path, entry.name))
      // The checkpoint of what landed before is due within a second, whatever else is done.
      .filter((path) => !/\/numbers\/|\/_tmp\/.*\.json\.[0-9a-f]+$/.test(path))
      .map((path) => `${path} ${sha256(readFileSync(path))}`).sort();
}

// --- Compressed bodies --------------------------------------------------------------------------

const kTwoRows = '{"a":"1"}\n{"a":"2"}\n';
/// kTwoRows; the zstd program's own.
const kTwoRowsZstd = Buffer.from('KLUv/QRYoQAAeyJhIjoiMSJ9CnsiYSI6IjIifQqoz1+N', 'base64');

const postCoded = (stream, encoding, body, id, path = '') =>
    server.request('POST', `${kIngest}/${stream}${path}`, {
      headers: { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': encoding,
                 'Content-Length': body.length, ...(id && { 'Idempotency-Key': id }) },
      body,
    });

test('one batch is one batch, compressed or not', async () => {
  const ways = [['gzip', gzipSync(kTwoRows)], ['x-gzip', gzipSync(kTwoRows, { level: 1 })],
                ['zstd', kTwoRowsZstd], ['identity', Buffer.from(kTwoRows)],
                ['GZIP', Buffer.concat([gzipSync('{"a":"1"}\n{"a"'), gzipSync(':"2"}\n')])]];
  for (const [first] of ways.entries()) {
    for (const [turn, [encoding, body]] of [ways[first], ...ways].entries()) {
      const answer = await postCoded('coded', encoding, body, `same-${first}`);
      assert.equal(answer.status, 200, answer.text);
      const { rows, replayed, body_sha256: digest } = answer.json;
      assert.deepEqual({ rows, replayed, digest },
                       { rows: 2, replayed: turn > 0, digest: sha256(Buffer.from(kTwoRows)) });
    }
  }
  const [[count]] = await server.rows('demo', 'SELECT count(*) FROM raw_extracted.stream_coded');
  assert.equal(count, 2 * ways.length);
  expectProblem(await postCoded('coded', 'gzip', gzipSync('{"a":"3"}\n'), 'same-0'), 422,
                'batch_id_reused');
});

test('a compressed body is measured by what comes out, and by what goes in', async () => {
  const bodyOf = (bytes) => Buffer.from(ndjson([{ a: 'x'.repeat(bytes - 9) }]));
  assert.equal(bodyOf(1000).length, 1000);
  assert.equal((await postCoded('small', 'gzip', gzipSync(bodyOf(1000)), 'full')).status, 200);
  const over = await postCoded('small', 'gzip', gzipSync(bodyOf(1001)), 'over');
  expectProblem(over, 413, 'body_too_large',
                /larger than 1000 bytes \(more than 1000 once inflated\)\. Split it: strata send/);
  const stored = gzipSync(bodyOf(1000), { level: 0 });
  expectProblem(await postCoded('small', 'gzip', stored, 'over'), 413, 'body_too_large',
                new RegExp(`1000 bytes \\(${stored.length} declared\\)`));
  const tooLarge = 'strata_batches_total{kb="demo",result="too_large",stream="small"}';
  assert.equal((await server.metrics())[tooLarge], 2);
});

test('a bomb is refused at the limit, and costs no memory', async () => {
  const highWater = () =>
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
  const member = gzipSync(Buffer.alloc(16 * kMebibyte), { level: 9 });
  const bomb = Buffer.concat(Array.from({ length: 64 }, () => member));
  assert.ok(bomb.length < kMebibyte, `${bomb.length}`);
  const earlier = highWater();
  for (let n = 0; n < 8; ++n) {
    expectProblem(await postCoded('coded', 'gzip', bomb, 'bomb'), 413, 'body_too_large');
  }
  assert.ok(highWater() - earlier < 128 * 1024, `${earlier} then ${highWater()} KiB`);
});

test('what cannot be inflated is a bad batch, and nothing of it is kept', async () => {
  const whole = gzipSync(kTwoRows);
  const damaged = Buffer.from(whole);
  damaged[damaged.length - 5] ^= 1;
  const cases = [
    ['gzip', whole.subarray(0, -1), /gzip data ends too early/],
    ['gzip', Buffer.concat([whole, Buffer.from('{"a":"3"}\n')]), /10 bytes that do not belong/],
    ['gzip', damaged, /gzip data is damaged/], ['gzip', Buffer.alloc(0), /ends too early/],
    ['gzip', Buffer.from(kTwoRows), /no gzip data, though Content-Encoding says gzip/],
    ['gzip', kTwoRowsZstd, /no gzip data/], ['zstd', whole, /no zstd data/],
    ['zstd', kTwoRowsZstd.subarray(0, 20), /zstd data ends too early/],
  ];
  const earlier = everything('coded');
  for (const [encoding, body, detail] of cases) {
    const answer = await postCoded('coded', encoding, body, 'bad');
    expectProblem(answer, 400, 'bad_batch', detail);
    assert.deepEqual([answer.json.errors, answer.json.error_count],
                     [[{ line: 0, reason: answer.json.detail }], 1]);
  }
  assert.deepEqual(everything('coded'), earlier);
  assert.equal((await postCoded('coded', 'gzip', whole, 'bad')).json.replayed, false);
  const said = await server.post('demo', 'coded', whole, { id: 'untold' });
  expectProblem(said, 400, 'bad_batch', /add the header Content-Encoding: gzip/);
});

test('a rejected compressed batch is kept as the text it is', async () => {
  const body = '{"a":"1"}\nno record\n';
  const answer = await postCoded('coded', 'gzip', gzipSync(body), 'kept');
  expectProblem(answer, 400, 'bad_batch', /^line 2/);
  const kept = join(server.streamFolder('demo', 'coded'), 'failed', 'kept.ndjson');
  assert.equal(readFileSync(kept, 'utf8'), body);
});

test('other encodings are refused, and those that work are named', async () => {
  for (const [encoding, body] of [['br', brotliCompressSync(kTwoRows)], ['', kTwoRows],
                                  ['deflate', deflateSync(kTwoRows)],
                                  ['gzip, zstd', gzipSync(kTwoRowsZstd)],
                                  ['gzip, gzip', gzipSync(gzipSync(kTwoRows))]]) {
    const answer = await postCoded('coded', encoding, body, 'other');
    expectProblem(answer, 415, 'unsupported_encoding', /gzip or with zstd/);
    assert.equal(answer.headers['accept-encoding'], 'gzip, zstd');
  }
  const body = gzipSync(JSON.stringify({ sql: 'SELECT 1' }));
  const control = await server.request('POST', '/knowledgebase/demo/strata/query', {
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body,
  });
  expectProblem(control, 415, 'unsupported_encoding', /without Content-Encoding/);
  assert.equal(control.headers['accept-encoding'], 'identity');
});

// --- Dry runs -----------------------------------------------------------------------------------

const dry = (stream, body, { id, value = '1', headers = {} } = {}) =>
    server.request('POST', `${kIngest}/${stream}?dry_run=${value}`, {
      headers: { 'Content-Type': 'application/x-ndjson', ...(id && { 'Idempotency-Key': id }),
                 ...headers },
      body,
    });

test('a dry run tells what would be, and changes nothing', async () => {
  const first = await server.land('demo', 'dry', [{ a: '1' }], 'landed');
  const earlier = everything('dry');
  const counted = async () => Object.fromEntries(Object.entries(await server.metrics())
      .filter(([key]) => /^strata_(batches|rows|ack).*stream="dry"/.test(key)));
  const metrics = await counted();

  const body = ndjson([{ a: '1', B: '2' }, { a: '3' }]);
  const would = await dry('dry', body, { id: 'new' });
  assert.equal(would.status, 200, would.text);
  const { arrived_at: arrivedAt, ...rest } = would.json;
  assert.deepEqual(rest, { batch_id: 'new', rows: 2, columns: 2, bytes: null, file: null,
                           body_sha256: sha256(Buffer.from(body)), file_sha256: null,
                           replayed: false, dry_run: true });
  assert.ok(Date.parse(arrivedAt) > 0);
  assert.equal(would.headers['strata-warning'], undefined);
  const coded = await dry('dry', gzipSync(body), { id: 'new', value: 'true',
                                                   headers: { 'Content-Encoding': 'gzip' } });
  assert.equal(coded.json.body_sha256, rest.body_sha256);

  const unnamed = await dry('dry', body);
  assert.deepEqual([unnamed.json.batch_id, unnamed.json.dry_run], [null, true]);
  assert.match(unnamed.headers['strata-warning'], /no Idempotency-Key/);

  const again = await dry('dry', '{ "a" : "1" }\n', { id: 'landed' });
  assert.deepEqual(again.json, { ...first, replayed: true, dry_run: true });
  expectProblem(await dry('dry', '{"a":"2"}\n', { id: 'landed' }), 422, 'batch_id_reused');
  const refused = await dry('dry', '{"a":"1"}\n{"_batch_id":"x"}\n', { id: 'refused' });
  expectProblem(refused, 400, 'bad_batch', /^line 2/);
  assert.deepEqual(refused.json.errors.map(({ line }) => line), [2]);
  expectProblem(await dry('dry', body, { id: 'a b' }), 400, 'bad_id', /'a-b' would do/);

  assert.deepEqual(everything('dry'), earlier);
  assert.deepEqual(await counted(), metrics);
  assert.deepEqual(await server.columns('demo', 'dry'), ['a', 'filename', '_batch_id']);
  assert.equal((await server.receiver('demo', 'dry')).rejected, 0);
});

test('a dry run of a new stream makes neither columns nor a view', async () => {
  const earlier = everything('wide');
  const names = (count) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, 1]));
  assert.equal((await dry('wide', ndjson([names(1024)]), { id: 'w' })).json.columns, 1024);
  expectProblem(await dry('wide', ndjson([names(1025)]), { id: 'w' }), 400, 'bad_batch',
                /'c1024' is one too many/);
  expectProblem(await dry('wide', '{}\n', { id: 'w' }), 400, 'bad_batch', /names a column/);
  expectProblem(await dry('fixed', ndjson([{ A: '1' }]), { id: 'w' }), 400, 'bad_batch', /'a'/);
  assert.deepEqual(everything('wide'), earlier);
  assert.equal((await server.receiver('demo', 'wide')).view.state, 'deferred');
  assert.equal((await dry('wide', ndjson([{ c0: '1' }]), { id: 'w', value: '0' })).json.dry_run,
               undefined);
  assert.equal((await dry('wide', '{}\n', { id: 'empty' })).json.rows, 1);
});

test('a mistyped or doubled dry_run lands nothing', async () => {
  const earlier = everything('dry');
  for (const [query, detail] of [['dryrun=1', /'dryrun', and ingest takes dry_run only/],
                                 ['dry_run=1&x=2', /'x'/],
                                 ['dry_run=1&dry_run=0', /'dry_run' more than once/],
                                 ['dry_run=1&dry%5Frun=0', /'dry_run' more than once/]]) {
    const answer = await server.request('POST', `${kIngest}/dry?${query}`, {
      headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'typed' },
      body: '{"a":"typed"}\n',
    });
    expectProblem(answer, 400, 'bad_request', detail);
  }
  assert.deepEqual(everything('dry'), earlier);
});

test('dry_run is 1 or 0', async () => {
  const earlier = everything('slips');
  for (const value of ['', 'yes', '2', 'TRUE', '1%20']) {
    expectProblem(await dry('slips', kTwoRows, { id: 'd', value }), 400, 'bad_request',
                  /1 .* or 0/);
  }
  assert.deepEqual(everything('slips'), earlier);
});

// --- The usual slips ----------------------------------------------------------------------------

const kCurlLine = /curl --data-binary @FILE -H 'Content-Type: application\/x-ndjson' .*http:\/\//;
const slips = [
  ['curl -d', { type: 'application/x-www-form-urlencoded', body: '{"a":1}{"a":2}' },
   415, 'unsupported_media_type', [/curl -d .* loses the line ends/, kCurlLine]],
  ['curl -d with the right type', { body: '{"a":1}{"a":2}' },
   400, 'bad_batch', [/line 1/, /curl --data-binary @FILE/]],
  ['a JSON array', { body: '[{"a":1},{"a":2}]' },
   400, 'bad_batch', [/one object per line/, /jq -c '\.\[\]'/]],
  ['a JSON document', { type: 'application/json', body: '{"a":1}' },
   415, 'unsupported_media_type', [/one JSON object a line/, kCurlLine]],
  ['CSV by its type', { type: 'text/csv', body: 'a,b\n1,2\n' },
   415, 'unsupported_media_type', [/strata send KB STREAM FILE\.csv/]],
  ['CSV by its content', { body: 'a,b\n1,2\n' }, 400, 'bad_batch', [/strata send KB STREAM/]],
  ['PUT', { method: 'PUT', body: '{"a":1}' }, 405, 'method_not_allowed', [/PUT .* use POST/]],
  ['an illegal id', { id: 'my batch/1', body: '{"a":1}' },
   400, 'bad_id', [/letters, digits/, /'my-batch-1' would do/]],
  ['an empty id', { id: '""', body: '{"a":1}' }, 400, 'bad_id', [/is no batch id/]],
  ['an over-long id', { id: 'x'.repeat(129), body: '{"a":1}' },
   400, 'bad_id', [/at most 128 characters/, new RegExp(`'x{128}' would do`)]],
  ['an unknown stream', { stream: 'slipz', body: '{"a":1}' },
   404, 'unknown_stream', [/'slips'/, /administers it .* strata receiver create demo/]],
  ['an illegal stream', { stream: 'Slips', body: '{"a":1}' },
   404, 'unknown_stream', [/'slips'/, /strata receiver create demo/]],
  ['no record', { body: '\n\n' }, 400, 'bad_batch', [/at least one record/]],
];
for (const [what, { method = 'POST', type = 'application/x-ndjson', stream = 'slips', body, id },
            status, code, details] of slips) {
  test(`${what}: ${status}, with what to do`, async () => {
    const headers = { 'Content-Type': type, 'Content-Length': body.length };
    if (id !== undefined) headers['Idempotency-Key'] = id;
    const answer = await server.request(method, `${kIngest}/${stream}`, { headers, body });
    for (const detail of details) expectProblem(answer, status, code, detail);
    if (status === 405) assert.equal(answer.headers.allow, 'POST');
    assert.equal((await server.receiver('demo', 'slips')).files, 0);
  });
}

/// Sends bytes, and answers all the server says until it ends the connection.
async function tell(bytes) {
  const socket = server.connect(bytes);
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await new Promise((resolve) => { socket.on('close', resolve); });
  return Buffer.concat(chunks).toString('utf8');
}

test('a body without a length is 411, an empty one 400', async () => {
  for (const version of ['1.1', '1.0']) {
    const said = await tell([`POST ${kIngest}/slips HTTP/${version}`, 'Host: localhost',
                             'Content-Type: application/x-ndjson', 'Connection: close', '',
                             ''].join('\r\n'));
    assert.match(said, /^HTTP\/1\.1 411 /);
    assert.match(said, /"code":"length_required"/);
    assert.match(said, kCurlLine);
  }
  expectProblem(await server.post('demo', 'slips', '', { id: 'e' }), 400, 'bad_batch',
                /at least one record/);
});

// --- Queries that end with their client ---------------------------------------------------------

const kEndless = 'SELECT count(*) FROM range(1000000) a, range(1000000) b ' +
                 'WHERE (a.range * b.range) % 7 = 3';

function ask(sql, more = '') {
  const body = JSON.stringify({ sql, timeout_ms: 60_000, max_rows: 1_000_000 });
  return server.connect([
    'POST /knowledgebase/demo/strata/query HTTP/1.1', 'Host: localhost',
    'Content-Type: application/json', `Content-Length: ${body.length}`, '', `${body}${more}`,
  ].join('\r\n'));
}
const cancelled = async () =>
    (await server.metrics())['strata_queries_total{result="cancelled"}'] ?? 0;
/// The worker that has burnt more processor time than before.
async function busyWorker() {
  const ticks = new Map(server.workers().map((pid) => [pid, ticksOf(pid)]));
  return until(() => server.workers().find((pid) => ticksOf(pid) > (ticks.get(pid) ?? 0) + 10),
               'a worker at work');
}
const gone = (pid) => until(() => !server.workers().includes(pid), 'the end of the worker');

test('a client that leaves ends its query, and its worker', async () => {
  for (const leave of [(socket) => socket.destroy(), (socket) => socket.resetAndDestroy()]) {
    const earlier = await cancelled();
    const socket = ask(kEndless);
    const worker = await busyWorker();
    leave(socket);
    await gone(worker);
    await until(async () => await cancelled() === earlier + 1, 'the metric');
  }
});

test('so do those that wait for a worker, and the next one gets one', async () => {
  const earlier = await cancelled();
  const sockets = Array.from({ length: 12 }, () => ask(kEndless));
  await busyWorker();
  for (const socket of sockets) socket.destroy();
  assert.deepEqual(await server.rows('demo', 'SELECT 42'), [[42]]);
  await until(async () => await cancelled() === earlier + 12, 'the metric');
  const deaths = Object.entries(await server.metrics())
      .filter(([key]) => key.startsWith('strata_worker_deaths_total'));
  assert.ok(deaths.every(([, count]) => count === 0), JSON.stringify(deaths));
});

test('a client that only ends its sending is told why its query ended', async () => {
  const socket = ask(kEndless);
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = new Promise((resolve) => { socket.on('close', resolve); });
  const worker = await busyWorker();
  socket.end();
  await closed;
  assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 499 .*keep both open/s);
  await gone(worker);
});

test('clients that stop reading and then leave free their workers', async () => {
  // As many as there are workers; more than the sockets' buffers hold.
  const sql = "SELECT repeat('x', 1000) FROM range(60000)";
  const sockets = Array.from({ length: 4 }, () => ask(sql));
  await Promise.all(sockets.map((socket) => new Promise((resolve) => {
    socket.once('data', () => {
      socket.pause();
      resolve();
    });
  })));
  for (const socket of sockets) socket.destroy();
  // Were they held, nobody would be served before a writing deadline: longer than a query's.
  assert.deepEqual(await server.rows('demo', 'SELECT 43'), [[43]]);
});

test('what is sent behind a query is answered behind it', async () => {
  const next = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const sql = 'SELECT count(*) FROM range(100000000) WHERE range % 7 = 3';
  const socket = ask(sql, next.slice(0, 20));
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  for (const byte of next.slice(20)) socket.write(byte);
  await new Promise((resolve) => { socket.on('close', resolve); });
  const said = Buffer.concat(chunks).toString();
  assert.match(said, /"rows":\[\[14285714\]\].*\{"live":true\}/s);
});
