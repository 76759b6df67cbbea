// What has landed, as the console and `strata batch` show it: pages of batches, one batch, columns,
// rates, and the numbers as server-sent events.
import assert from 'node:assert/strict';
import { copyFileSync, renameSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run, start, startWith, until } from './harness.mjs';

const kSubscribersMax = 64;
let server;
before(async () => { server = await startWith('demo', ['weather', 'other', 'live', 'many']); });

const pathOf = (stream, rest) => `/knowledgebase/demo/strata/receivers/${stream}${rest}`;
async function ask(stream, rest, at = server) {
  const answer = await at.get(pathOf(stream, rest));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

function asBatch({ replayed, ...landed }, content) {
  return { ...landed, content_sha256: content, where: landed.file };
}

test('batches are paged from the newest, also after a restart', async () => {
  const landed = [];
  for (const [id, rows] of [['z', 1], ['m', 2], ['a', 3], ['k', 1], ['b', 1]]) {
    const body = Array.from({ length: rows }, (_, n) => ({ n: String(n), id }));
    landed.push(await server.land('demo', 'weather', body, id));
    await sleep(20);  // files of one tick of the file system's clock are of one age
  }
  const all = async () => {
    const seen = [];
    let before = '';
    do {
      const { batches, next } = await ask('weather', `/batches?limit=2${before}`);
      seen.push(...batches);
      before = next === null ? null : `&before=${next}`;
    } while (before !== null);
    return seen;
  };
  const check = async () => {
    const seen = await all();
    assert.deepEqual(seen.map((batch) => batch.batch_id), ['b', 'k', 'a', 'm', 'z']);
    for (const batch of seen) {
      const answer = landed.find(({ batch_id: id }) => id === batch.batch_id);
      assert.deepEqual(batch, asBatch(answer, batch.content_sha256));
      assert.match(batch.content_sha256, /^[0-9a-f]{64}$/);
    }
  };
  await check();
  await server.restart();
  await check();
  assert.equal((await server.get(pathOf('weather', '/batches?before=nobody'))).status, 404);
  assert.equal((await server.get(pathOf('weather', '/batches?limit=501'))).status, 400);
  assert.deepEqual(await ask('other', '/batches'), { batches: [], next: null });
});

test('one batch, and where its rows are now', async () => {
  const landed = await server.land('demo', 'other', [{ a: '1' }], 'one');
  const batch = await ask('other', '/batches/one');
  assert.deepEqual(batch, asBatch(landed, batch.content_sha256));
  const data = join(server.streamFolder('demo', 'other'), 'data');
  renameSync(join(data, 'one.parquet'), join(server.data, 'taken'));
  assert.deepEqual(await ask('other', '/batches/one'), { ...batch, where: null });
  renameSync(join(server.data, 'taken'), join(data, 'one.parquet'));
  for (const id of ['two', '.schema', 'a%2Fb']) {
    const answer = await server.get(pathOf('other', `/batches/${id}`));
    assert.equal(answer.status, 404, id);
    assert.equal(answer.json.code, 'not_found');
  }
  // Somebody's copy is no batch.
  copyFileSync(join(data, 'one.parquet'), join(data, 'copy.parquet'));
  const { batches } = await ask('other', '/batches');
  assert.deepEqual(batches.map(({ batch_id: id }) => id), ['one']);
});

test('columns: filled cells, samples, the first batch that has each', async () => {
  await server.createReceiver('demo', 'wide');
  await server.land('demo', 'wide', [{ a: '1', b: null }, { a: '7', b: null }], 'z-first');
  await server.land('demo', 'wide', [{ b: 'x', 'c <b>': 'y' }, {}], 'a-second');
  const expected = {
    columns: [
      { column: 'a', filled: 2, rows: 4, samples: ['1', '7'], first_batch: 'z-first' },
      { column: 'b', filled: 1, rows: 4, samples: ['x'], first_batch: 'a-second' },
      { column: 'c <b>', filled: 1, rows: 4, samples: ['y'], first_batch: 'a-second' },
    ],
    rows: 4, files: 2, files_read: 2, complete: true,
  };
  assert.deepEqual(await ask('wide', '/columns'), expected);
  const counted = await server.rows(
      'demo', 'SELECT count(a), count(b), count("c <b>") FROM raw_extracted.stream_wide');
  assert.deepEqual(counted, [expected.columns.map(({ filled }) => filled)]);
  assert.deepEqual(await ask('live', '/columns'),
                   { columns: [], rows: 0, files: 0, files_read: 0, complete: true });
});

test('rates count what lands, in this process and in another', async () => {
  const sums = async (window, at = server) => {
    const { rates, bucket_seconds: bucket, since } = await ask('many', `/rates?window=${window}`,
                                                               at);
    assert.equal(bucket, { '5m': 5, '1h': 60, '24h': 1440 }[window]);
    assert.ok(!Number.isNaN(Date.parse(since)));
    assert.ok(rates.length >= 1 && rates.length <= 60);
    const sum = (member) => rates.reduce((all, point) => all + point[member], 0);
    return `${sum('rows')} rows, ${sum('batches')} batches`;
  };
  const expectAll = (expected, at) => Promise.all(['5m', '1h', '24h'].map(
      (window) => until(async () => (await sums(window, at)) === expected, expected)));
  await server.land('demo', 'many', [{ a: '1' }, { a: '2' }], 'one');
  await expectAll('2 rows, 1 batches');
  const other = await start({ data: server.data });
  assert.equal(await sums('1h', other), '0 rows, 0 batches');  // it says since when it counts
  await other.land('demo', 'many', [{ a: '3' }], 'two');
  await expectAll('1 rows, 1 batches', other);
  await expectAll('3 rows, 2 batches');
  await other.stop();
  const wrong = await server.get(pathOf('many', '/rates?window=2h'));
  assert.equal(wrong.status, 400);
  assert.match(wrong.json.detail, /5m, 1h or 24h/);
});

/// Subscribes; `said` holds what came so far.
function subscribe(at, stream) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: at.port, path: pathOf(stream, '/events'),
                           agent: false });
    sent.on('error', reject);
    sent.on('response', (message) => {
      const subscription = { message, said: '', ended: false, leave: () => sent.destroy() };
      message.setEncoding('utf8');
      message.on('data', (text) => { subscription.said += text; });
      message.on('end', () => { subscription.ended = true; });
      message.on('error', () => {});
      resolve(subscription);
    });
    sent.end();
  });
}
const eventsOf = ({ said }) => said.split('\n\n').filter((event) => event.startsWith('data: '))
                                   .map((event) => JSON.parse(event.slice('data: '.length)));

test('events say the numbers, and say them again when they change', async () => {
  const subscription = await subscribe(server, 'live');
  const { headers, statusCode } = subscription.message;
  assert.equal(statusCode, 200);
  assert.equal(headers['content-type'], 'text/event-stream');
  assert.equal(headers['cache-control'], 'no-store');
  await until(() => eventsOf(subscription).length === 1, 'the first event');
  assert.deepEqual(eventsOf(subscription)[0],
                   { rows: 0, files: 0, bytes: 0, last_landed: null, rejected: 0 });
  const landed = await server.land('demo', 'live', [{ a: '1' }, { a: '2' }], 'one');
  await until(() => eventsOf(subscription).at(-1).rows === 2, 'the landing');
  assert.deepEqual(eventsOf(subscription).at(-1),
                   { rows: 2, files: 1, bytes: landed.bytes, last_landed: landed.arrived_at,
                     rejected: 0 });
  await server.post('demo', 'live', 'x', { id: 'bad' });
  await until(() => eventsOf(subscription).at(-1).rejected === 1, 'the rejection');
  subscription.leave();
});

test('many may watch, holding nobody up; more are told so; their end frees the place', async () => {
  const subscriptions = [];
  const full = async () => {
    const subscription = await subscribe(server, 'live');
    if (subscription.message.statusCode === 200) {
      subscriptions.push(subscription);
      return false;
    }
    return subscription;
  };
  const refused = await until(full, 'the last place');
  assert.equal(subscriptions.length, kSubscribersMax);
  await until(() => refused.ended, 'the refusal');
  assert.equal(refused.message.statusCode, 503);
  assert.equal(JSON.parse(refused.said).code, 'busy');
  assert.equal(refused.message.headers['retry-after'], '1');
  assert.equal((await server.receiver('demo', 'live')).rows, 2);
  subscriptions.pop().leave();
  await until(async () => !(await full()), 'a free place');
  // A clean stop ends them all, whole, and does not wait for them to leave.
  await server.stop();
  for (const { message } of subscriptions) assert.ok(message.complete);
  await server.restart();
});

test('the events of a stream end when it is deleted', async () => {
  await server.createReceiver('demo', 'short_lived');
  const subscription = await subscribe(server, 'short_lived');
  await until(() => eventsOf(subscription).length === 1, 'the first event');
  const deleted = await server.request('DELETE', pathOf('short_lived', ''));
  assert.equal(deleted.status, 200, deleted.text);
  await server.createReceiver('demo', 'short_lived');
  await until(() => subscription.ended, 'the end');
  assert.ok(subscription.message.complete);
  assert.equal(eventsOf(subscription).length, 1);
});

test('from the command line', async () => {
  const strata = (args) => run([...args, '--url', server.url]);
  const listed = await strata(['batch', 'list', 'demo', 'weather', '--limit', '2']);
  assert.equal(listed.code, 0, listed.log);
  assert.match(listed.out, /^ b .*\n k /m);
  assert.match(listed.log, /--before k/);
  const shown = await strata(['batch', 'show', 'demo', 'weather', 'a']);
  assert.match(shown.out, /^rows: +3$/m);
  assert.match(shown.out, /^where: +data\/a\.parquet$/m);
  assert.equal((await strata(['batch', 'show', 'demo', 'weather', 'none'])).code, 1);
});
