// The edges of the HTTP surface: limits, media types, hosts and origins, error bodies, what is kept
// of a rejected batch, health, and the clean stop.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { check, History, kNothingWrong, readView, sendLogged, sha256 } from './checker.mjs';
import { freshFolder, ndjson, start, startAndEnd, startWith, until } from './harness.mjs';

const kIngest = '/knowledgebase/demo/strata/ingest';
const kMebibyte = 1024 * 1024;
const kUuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let server;
before(async () => {
  server = await startWith('demo', {
    events: {}, small: { max_body_bytes: 1000 }, large: { max_body_bytes: 3 * kMebibyte },
  });
});

/// A problem as RFC 9457 has it; `more` are the members beyond those of every one.
function expectProblem(answer, { status, code, detail = /./, more = [] }) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  const { json } = answer;
  assert.deepEqual(Object.keys(json),
                   ['type', 'title', 'status', 'detail', 'code', 'request_id', ...more]);
  assert.deepEqual({ status: json.status, code: json.code, type: json.type },
                   { status, code, type: `urn:strata:error:${code}` }, answer.text);
  assert.match(json.detail, detail);
  assert.equal(json.request_id, answer.headers['x-request-id']);
  assert.ok(!answer.text.includes(server.data), 'no server path');
}

// --- Limits -------------------------------------------------------------------------------------

/// One record of exactly this many bytes.
function bodyOf(bytes) {
  const frame = ndjson([{ a: '' }]);
  return Buffer.from(ndjson([{ a: 'x'.repeat(bytes - frame.length) }]));
}

/// The same body in chunks, its length never told.
function postChunked(stream, body, id) {
  return server.request('POST', `${kIngest}/${stream}`, {
    headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': id,
               'Transfer-Encoding': 'chunked' },
    body,
  });
}

const kTooLarge = '{kb="demo",result="too_large",stream="';
for (const [stream, limit] of [['small', 1000], ['events', kMebibyte], ['large', 3 * kMebibyte]]) {
  test(`a body may have ${limit} bytes and not one more, declared or chunked`, async () => {
    const key = `strata_batches_total${kTooLarge}${stream}"}`;
    for (const bytes of [limit - 1, limit]) {
      const declared = await server.post('demo', stream, bodyOf(bytes), { id: `d-${bytes}` });
      assert.equal(declared.status, 200, declared.text);
      const chunked = await postChunked(stream, bodyOf(bytes), `c-${bytes}`);
      assert.equal(chunked.status, 200, chunked.text);
      assert.deepEqual([chunked.json.rows, chunked.json.body_sha256],
                       [1, sha256(bodyOf(bytes))]);
    }
    assert.equal((await server.metrics())[key], undefined);
    const over = bodyOf(limit + 1);
    const refusal = { status: 413, code: 'body_too_large', detail: /split it: strata send does/i };
    const declared = await server.post('demo', stream, over, { id: 'over' });
    expectProblem(declared, refusal);
    assert.ok(declared.json.detail.includes(`${limit}`), declared.json.detail);
    assert.ok(declared.json.detail.includes(`${limit + 1}`), declared.json.detail);
    const chunked = await postChunked(stream, over, 'over');
    expectProblem(chunked, refusal);
    assert.ok(chunked.json.detail.includes(`${limit}`), chunked.json.detail);
    assert.equal((await server.metrics())[key], 2);
    const { files, rejected } = await server.receiver('demo', stream);
    assert.deepEqual({ files, rejected }, { files: 4, rejected: 0 });
  });
}

/// Sends a head, and answers all the server says until it ends the connection.
async function tell(head, body = '') {
  const socket = server.connect(head.join('\r\n') + '\r\n\r\n' + body);
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await new Promise((resolve) => { socket.on('close', resolve); });
  return Buffer.concat(chunks).toString('utf8');
}

test('a body over the limit is refused by its head: nobody waits for it', async () => {
  const said = await tell([
    `POST ${kIngest}/events HTTP/1.1`, 'Host: localhost', 'Content-Type: application/x-ndjson',
    'Content-Length: 10000000000', 'Expect: 100-continue',
  ]);
  assert.match(said, /^HTTP\/1\.1 413 /);
  assert.doesNotMatch(said, /100 Continue/);
  const endless = await tell([
    `POST ${kIngest}/small HTTP/1.1`, 'Host: localhost', 'Content-Type: application/x-ndjson',
    'Transfer-Encoding: chunked',
  ], `ffffffff\r\n${'x'.repeat(5000)}`);
  assert.match(endless, /^HTTP\/1\.1 413 /);
});

test('heads that are none are refused', async () => {
  const line = `POST ${kIngest}/events HTTP/1.1`;
  const cases = [
    [[line, 'Content-Length: 2'], 400], [[line, 'Host: a', 'Host: b', 'Content-Length: 2'], 400],
    [[line, 'Host: localhost', 'Content-Length: 2', 'Transfer-Encoding: chunked'], 400],
    [[line, 'Host: localhost', 'Transfer-Encoding: gzip'], 400],
    [[line, 'Host: localhost', 'Transfer-Encoding: gzip, chunked'], 400],
    [[line, 'Host: localhost', 'Content-Length: 2', 'Content-Length: 3'], 400],
    [['GET /healthz HTTP/1.1', 'Host: localhost', `X: ${'x'.repeat(20_000)}`], 431],
    [[`GET /${'x'.repeat(9000)} HTTP/1.1`, 'Host: localhost'], 414],
    [['nonsense'], 400],
  ];
  for (const [head, status] of cases) {
    const said = await tell([...head, 'Connection: close'], '{}');
    assert.match(said, new RegExp(`^HTTP/1\\.1 ${status} `), head.join(' | ').slice(0, 120));
    assert.match(said, /application\/problem\+json/);
  }
});

// --- Media types, hosts, origins ----------------------------------------------------------------

const kMediaTypes = [
  ['application/x-ndjson', 200], ['application/ndjson', 200], ['application/jsonl', 200],
  ['application/x-jsonlines', 200], ['Application/X-NDJSON ; charset=UTF-8', 200],
  ['application/x-ndjson;charset="utf-8"', 200], [undefined, 200],
  ['application/json', 415, /one JSON object a line/], ['text/csv', 415, /strata send/],
  ['application/x-www-form-urlencoded', 415, /curl -d/], ['text/plain', 415, /text\/plain/],
  ['application/x-ndjson; charset=latin1', 415, /UTF-8/],
  ['application/x-ndjson; charset=utf-16', 415, /UTF-8/], ['', 415, /./],
];
for (const [type, status, detail] of kMediaTypes) {
  test(`media type ${type}: ${status}`, async () => {
    const id = `type-${kMediaTypes.findIndex((row) => row[0] === type)}`;
    const headers = { 'Idempotency-Key': id };
    if (type !== undefined) headers['Content-Type'] = type;
    const answer = await server.request('POST', `${kIngest}/events`, {
      headers, body: ndjson([{ a: '1' }]),
    });
    if (status === 200) {
      assert.equal(answer.status, 200, answer.text);
      return;
    }
    expectProblem(answer, { status, code: 'unsupported_media_type', detail });
    if (/charset/.test(type)) return;
    assert.match(answer.json.detail, /curl --data-binary @FILE .*application\/x-ndjson/);
    assert.ok(answer.json.detail.includes(`http://127.0.0.1:${server.port}${kIngest}/events`));
  });
}

test('without a media type a page is refused, a program is not', async () => {
  const body = ndjson([{ a: '1' }]);
  for (const headers of [{ Origin: server.url }, { 'Sec-Fetch-Site': 'same-origin' }]) {
    const answer = await server.request('POST', `${kIngest}/events`, { headers, body });
    expectProblem(answer, { status: 415, code: 'unsupported_media_type' });
  }
});

test('encodings that are not taken are refused by name', async () => {
  for (const encoding of ['br', 'deflate', 'gzip, gzip']) {
    const answer = await server.post('demo', 'events', ndjson([{ a: '1' }]), {
      id: 'encoded', headers: { 'Content-Encoding': encoding },
    });
    expectProblem(answer, { status: 415, code: 'unsupported_encoding' });
  }
  const identity = await server.post('demo', 'events', ndjson([{ a: '1' }]), {
    id: 'encoded', headers: { 'Content-Encoding': 'identity' },
  });
  assert.equal(identity.status, 200);
});

test('the Host must be a loopback name, or one that was allowed', async () => {
  const port = server.port;
  for (const host of [`localhost:${port}`, 'localhost', `127.0.0.1:${port}`, `[::1]:${port}`,
                      'LOCALHOST']) {
    assert.equal((await server.get('/healthz', { Host: host })).status, 200, host);
  }
  for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example',
                      '127.0.0.1.evil.example', '169.254.169.254']) {
    const answer = await server.get('/healthz', { Host: host });
    expectProblem(answer, { status: 421, code: 'unknown_host', detail: /--allow-host/ });
  }
});

test('a page of another site may not talk to the server', async () => {
  const own = server.url;
  const cases = [
    [{ Origin: 'https://evil.example' }, 403], [{ Origin: 'null' }, 403],
    [{ Origin: `http://127.0.0.1:${server.port + 1}` }, 403],
    [{ Origin: `http://127.0.0.1.evil.example:${server.port}` }, 403],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 403], [{ 'Sec-Fetch-Site': 'same-site' }, 403],
    [{ Origin: own }, 200], [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 200],
  ];
  for (const [headers, status] of cases) {
    for (const path of ['/healthz', '/knowledgebase/demo/strata/query?sql=SELECT+1']) {
      const answer = await server.get(path, headers);
      if (status === 200) assert.equal(answer.status, 200, `${JSON.stringify(headers)} ${path}`);
      else expectProblem(answer, { status: 403, code: 'forbidden' });
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
  }
});

// --- Names and methods --------------------------------------------------------------------------

test('unknown names answer 404 and the nearest one', async () => {
  const body = ndjson([{ a: '1' }]);
  const cases = [
    ['demo', 'event', 'unknown_stream', /no receiver 'event' in.*'events'.*receiver create demo/],
    ['demo', 'Events', 'unknown_stream', /'events'/],
    ['demo', 'zzzzzzzzzzzz', 'unknown_stream',
     /no receiver 'zzzzzzzzzzzz' in.*receiver create demo/],
    ['dem', 'events', 'unknown_knowledgebase', /'demo'/],
    ['..', 'events', 'unknown_knowledgebase', /./],
    ['demo', '..%2F..%2Fetc', 'unknown_stream', /./],
  ];
  for (const [kb, stream, code, detail] of cases) {
    expectProblem(await server.post(kb, stream, body, { id: 'nowhere' }),
                  { status: 404, code, detail });
  }
  expectProblem(await server.get('/nothing/here'), { status: 404, code: 'not_found' });
  expectProblem(await server.get('/knowledgebase/demo/'), { status: 404, code: 'not_found' });
});

test('a control request without its body, or with too much of one, is told so', async () => {
  const path = '/knowledgebase/demo/strata/receivers';
  const bare = await server.request('POST', path);
  expectProblem(bare, { status: 400, code: 'bad_request',
                        detail: /needs a body.*stream, columns/ });
  const large = await server.request('POST', path, {
    headers: { 'Content-Type': 'application/json' }, body: ' '.repeat(kMebibyte + 1),
  });
  expectProblem(large, { status: 413, code: 'body_too_large', detail: /declared\)\.$/ });
});

test('another method answers 405 and the ones there are', async () => {
  const cases = [
    ['PUT', `${kIngest}/events`, 'POST'], ['GET', `${kIngest}/events`, 'POST'],
    ['DELETE', '/healthz', 'GET, HEAD'], ['PATCH', '/knowledgebase', 'GET, HEAD, POST'],
    ['OPTIONS', '/knowledgebase/demo/strata/query', 'GET, HEAD, POST'],
  ];
  for (const [method, path, allow] of cases) {
    const answer = await server.request(method, path);
    expectProblem(answer, { status: 405, code: 'method_not_allowed' });
    assert.equal(answer.headers.allow, allow);
  }
  const head = await server.request('HEAD', '/healthz');
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('every reply has a request id: the one that was sent, if it can be one', async () => {
  for (const path of ['/healthz', '/nothing', `${kIngest}/events`]) {
    assert.match((await server.get(path)).headers['x-request-id'], kUuidV7);
    const own = await server.get(path, { 'X-Request-Id': 'mine-1.2_3' });
    assert.equal(own.headers['x-request-id'], 'mine-1.2_3');
    const illegal = await server.get(path, { 'X-Request-Id': 'no id <script>' });
    assert.match(illegal.headers['x-request-id'], kUuidV7);
  }
});

// --- Rejected batches ---------------------------------------------------------------------------

const failed = (name) => join(server.streamFolder('demo', 'rejecting'), 'failed', name);

test('a rejected batch is kept byte for byte with its reasons, and its id is free', async () => {
  await server.createReceiver('demo', 'rejecting');
  const body = Buffer.concat([
    Buffer.from('\ufeff{"a":"1"}\r\n{"a":\n'), Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x0a, 0x00]),
  ]);
  const begun = Date.now();
  const answer = await server.post('demo', 'rejecting', body, { id: 'r-1' });
  expectProblem(answer, { status: 400, code: 'bad_batch', more: ['errors', 'error_count'] });
  const { errors, error_count: count, detail } = answer.json;
  assert.deepEqual(errors.map(({ line }) => line), [2, 3, 4]);
  assert.equal(count, 3);
  assert.ok(readFileSync(failed('r-1.ndjson')).equals(body));
  const { rejected_at: rejectedAt, ...reasons } = JSON.parse(
      readFileSync(failed('r-1.err'), 'utf8'));
  assert.deepEqual(reasons, { batch_id: 'r-1', code: 'bad_batch', detail, errors,
                              body_sha256: sha256(body), error_count: count });
  assert.ok(Math.abs(Date.parse(rejectedAt) - begun) < 600_000, rejectedAt);

  // A second rejection of the id replaces the first; then the id lands as if new.
  assert.equal((await server.post('demo', 'rejecting', '[]', { id: 'r-1' })).status, 400);
  assert.equal(readFileSync(failed('r-1.ndjson'), 'utf8'), '[]');
  assert.equal((await server.receiver('demo', 'rejecting')).rejected, 1);
  const landed = await server.land('demo', 'rejecting', [{ a: '1' }], 'r-1');
  assert.equal(landed.replayed, false);
  assert.equal((await server.receiver('demo', 'rejecting')).files, 1);
});

test('without a legal id a rejected batch is kept under one of the server\'s', async () => {
  const earlier = new Set(readdirSync(failed('')));
  assert.equal((await server.post('demo', 'rejecting', 'no id\n')).status, 400);
  assert.equal((await server.post('demo', 'rejecting', '{"a":1}', { id: 'a b' })).status, 400);
  const added = readdirSync(failed('')).filter((name) => !earlier.has(name)).sort();
  assert.equal(added.length, 4);
  for (const name of added) {
    assert.match(name.replace(/\.(ndjson|err)$/, ''), kUuidV7);
  }
  const bodies = added.filter((name) => name.endsWith('.ndjson'));
  assert.deepEqual(bodies.map((name) => readFileSync(failed(name), 'utf8')).sort(),
                   ['no id\n', '{"a":1}'].sort());
  const metrics = await server.metrics();
  assert.equal(metrics['strata_batches_total{kb="demo",result="rejected",stream="rejecting"}'], 4);
  const kept = [...added, 'r-1.ndjson', 'r-1.err'].map((name) => readFileSync(failed(name)).length);
  assert.equal(metrics['strata_failed_bytes{kb="demo",stream="rejecting"}'],
               kept.reduce((a, b) => a + b));
});

test('of 101 bad lines 100 are told and all are counted', async () => {
  const answer = await server.post('demo', 'rejecting', 'x\n'.repeat(101), { id: 'many' });
  const { errors, error_count: count } = answer.json;
  assert.deepEqual([errors.length, count, errors[99].line], [100, 101, 100]);
});

// --- Health -------------------------------------------------------------------------------------

test('healthz, readyz and metrics say what is so', async () => {
  await server.createReceiver('demo', 'measured');
  const rows = [{ a: '1' }, { a: '2' }];
  await server.land('demo', 'measured', rows, 'one');
  await server.land('demo', 'measured', rows, 'one');
  await server.land('demo', 'measured', rows, 'two');
  await server.post('demo', 'measured', ndjson([{ a: '3' }]), { id: 'two' });
  assert.deepEqual((await server.get('/healthz')).json, { live: true });
  const { ready, reasons, probe } = (await server.get('/readyz')).json;
  assert.deepEqual([ready, reasons], [true, []]);
  assert.deepEqual(Object.keys(probe).sort(),
                   ['directory_sync', 'exchange', 'free_bytes', 'hard_links', 'landlock',
                    'no_replace', 'reserve_bytes', 'seccomp']);
  assert.deepEqual([probe.hard_links, probe.directory_sync], [true, true]);

  const answer = await server.get('/metrics');
  assert.match(answer.headers['content-type'], /^text\/plain; version=0\.0\.4/);
  const metrics = await server.metrics();
  const of = (name, labels = '') => metrics[`${name}{kb="demo",${labels}stream="measured"}`];
  const batches = (result) => of('strata_batches_total', `result="${result}",`);
  assert.deepEqual(['landed', 'replayed', 'rejected'].map(batches), [2, 1, 1]);
  assert.equal(of('strata_rows_total'), 4);
  assert.equal(of('strata_lock_acquisitions_total', 'purpose="view",'), 1);
  const { last_landed: newest } = await server.receiver('demo', 'measured');
  const shown = of('strata_last_landed_timestamp_seconds');
  assert.ok(Math.abs(shown - Date.parse(newest) / 1000) < 0.01, `${shown}, ${newest}`);
  assert.ok(metrics['strata_generation{kb="demo"}'] >= 2);
  assert.ok(metrics.strata_ack_seconds_count >= 3);
  assert.ok(metrics.strata_disk_free_bytes > metrics.strata_disk_reserve_bytes);
  assert.equal(metrics.strata_ingest_stopped, 0);
  assert.ok(metrics.strata_commit_queue >= 0);
  assert.ok(Object.keys(metrics).some((key) => key.startsWith('strata_build_info{version="')));
});

test('with DEGRADED in the root ingest refuses; a restart clears it', async () => {
  const own = await startWith('demo', ['events']);
  await own.land('demo', 'events', [{ a: '1' }], 'one');
  writeFileSync(join(own.data, 'DEGRADED'), '{"reason":"somebody pulled a disk"}');
  const ready = await until(async () => {
    const answer = await own.get('/readyz');
    return answer.status === 503 && answer;
  }, 'readyz');
  assert.equal(ready.json.ready, false);
  assert.match(ready.json.reasons.join(), /somebody pulled a disk/);
  assert.deepEqual((await own.receiver('demo', 'events')).ingest,
                   { state: 'stopped', code: 'degraded', reason: 'somebody pulled a disk' });
  const answer = await own.post('demo', 'events', ndjson([{ a: '2' }]), { id: 'two' });
  assert.deepEqual([answer.status, answer.json.code], [503, 'degraded'], answer.text);
  assert.match(answer.headers['retry-after'], /^\d+$/);
  assert.deepEqual(await own.rows('demo', 'SELECT a FROM raw_extracted.stream_events'), [['1']]);
  await own.restart();
  assert.equal((await own.get('/readyz')).status, 200);
  assert.deepEqual((await own.receiver('demo', 'events')).ingest, { state: 'open' });
  assert.equal((await own.land('demo', 'events', [{ a: '2' }], 'two')).replayed, false);
  await own.stop();
});

// --- Processes ----------------------------------------------------------------------------------

test('SIGTERM under load: exit 0, and nothing acknowledged is lost', async () => {
  const own = await startWith('demo', ['load']);
  const history = new History();
  const client = async (name) => {
    for (let n = 0; ; ++n) {
      const rows = [1, 2, 3].map((row) => ({ row: `${row}`, client: `${name}`, n: `${n}` }));
      const answer = await sendLogged(history, own, {
        kb: 'demo', stream: 'load', id: `c${name}-${n}`, rows,
      });
      if (answer === undefined) return;  // nobody listens any more
    }
  };
  const clients = Array.from({ length: 8 }, (_, name) => client(name));
  await until(() => history.outcomes('ok').length >= 60, '60 batches');
  await own.stop();
  await Promise.all(clients);
  const acknowledged = history.outcomes('ok').length;
  assert.deepEqual(history.outcomes('fail'), []);
  await own.restart();
  const seen = await readView(own, 'demo', 'load');
  assert.deepEqual(check(history, seen), kNothingWrong);
  const { rows, files } = await own.receiver('demo', 'load');
  assert.deepEqual([rows, files], [3 * seen.size, seen.size]);
  assert.ok(seen.size >= acknowledged);
  await own.stop();
});

test('a second server on one port says so and ends', async () => {
  const { code, log } = await startAndEnd({
    data: freshFolder(), listen: `127.0.0.1:${server.port}`,
  });
  assert.equal(code, 1);
  assert.match(log, new RegExp(`strata serve: Port ${server.port} of 127.0.0.1 is in use`));
  assert.equal((await server.get('/healthz')).status, 200);
});

test('a second server over one root, on another port, serves the same rows', async () => {
  const other = await start({ data: server.data });
  await server.land('demo', 'measured', [{ a: 'x' }], 'here');
  await other.land('demo', 'measured', [{ a: 'y' }], 'there');
  assert.equal((await other.land('demo', 'measured', [{ a: 'x' }], 'here')).replayed, true);
  const sql = 'SELECT count(*) FROM raw_extracted.stream_measured';
  assert.deepEqual([await server.rows('demo', sql), await other.rows('demo', sql)],
                   [[[6]], [[6]]]);
  await other.stop();
});

test('options that cannot be are refused in one line', async () => {
  for (const [listen, reason] of [['0.0.0.0:0', /needs tokens/], ['8080', /HOST:PORT/],
                                  ['127.0.0.1:99999', /HOST:PORT/]]) {
    const { code, log } = await startAndEnd({ data: freshFolder(), listen });
    assert.equal(code, 2, log);
    assert.match(log, reason);
  }
});
