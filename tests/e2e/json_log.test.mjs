// `--log-format json`: every line is one object, each answered request has one line, and neither
// SQL nor a token nor a body is in any of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ndjson, startWith, until } from './harness.mjs';

const kTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const kIngest = '/knowledgebase/demo/strata/ingest';

test('a line of JSON for each event and each request, without what is secret', async () => {
  const server = await startWith('demo', ['events'], { args: ['--log-format', 'json'] });
  const secret = { Authorization: 'Bearer strata_tttt_ssss-secret' };
  const query = '/knowledgebase/demo/strata/query?sql=SELECT+%27my-secret%27';
  const body = ndjson([{ a: 'body-secret' }]);
  const requests = [
    ['POST', `${kIngest}/events`, 200, '/knowledgebase/{kb}/strata/ingest/{stream}', body],
    ['POST', `${kIngest}/events`, 400, '/knowledgebase/{kb}/strata/ingest/{stream}', '{secret'],
    ['GET', query, 200, '/knowledgebase/{kb}/strata/query'],
    ['GET', '/no/such"\\%0a?x=secret', 404, null],
    ['HEAD', '/healthz', 200, '/healthz'],
  ];
  const ids = [];
  for (const [method, path, status, , sent] of requests) {
    const headers = { ...secret, 'X-Request-Id': `log-${ids.length}` };
    if (sent !== undefined) headers['Content-Type'] = 'application/x-ndjson';
    const answer = await server.request(method, path, { headers, body: sent });
    assert.equal(answer.status, status, answer.text);
    ids.push(answer.headers['x-request-id']);
  }
  assert.deepEqual(ids, requests.map((_, n) => `log-${n}`));
  const odd = server.connect(Buffer.from('GET /\xff\xfe"\n HTTP/1.1\r\n\r\n', 'latin1'));
  await new Promise((resolve) => { odd.on('close', resolve).resume(); });
  await until(() => server.log.includes(`"${ids.at(-1)}"`), 'the last request\'s line');
  await server.stop();

  const lines = server.log.trimEnd().split('\n').map((line) => JSON.parse(line));
  for (const line of lines) {
    assert.match(line.time, kTime);
    assert.ok(['info', 'warning', 'error'].includes(line.level), line.level);
    assert.ok(line.message.length > 0);
  }
  const messages = lines.map(({ message }) => message);
  assert.ok(messages.some((text) => text.startsWith('listening on http://')));
  assert.equal(messages.at(-1), 'stopping');
  for (const [n, [method, path, status, route, sent]] of requests.entries()) {
    const [line, ...more] = lines.filter(({ request_id: id }) => id === `log-${n}`);
    assert.deepEqual(more, [], 'one line a request');
    const { time, duration_us: duration, request_bytes: read, response_bytes: written,
            ...rest } = line;
    assert.deepEqual(rest, { level: 'info', message: 'request', request_id: `log-${n}`, method,
                             route, path: path.split('?')[0], status });
    assert.ok(Number.isInteger(duration) && duration >= 0);
    assert.ok(read > (sent ?? '').length && written > 0, `${read}, ${written}`);
  }
  assert.ok(!server.log.includes('\ufffd'), 'every line is UTF-8');
  assert.ok(!server.log.includes('secret'), 'no SQL, token, body or query string');
});

test('as text, a log has no line for a request', async () => {
  const server = await startWith('demo', ['events']);
  await server.land('demo', 'events', [{ a: '1' }], 'one');
  await server.stop();
  assert.match(server.log, /^\S+Z info listening on http:\/\/\S+\n\S+Z info stopping\n$/);
});
