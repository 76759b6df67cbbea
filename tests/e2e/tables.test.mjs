// What the control routes show: tables, documents, knowledgebases, receivers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { missing, repository, startWith } from './harness.mjs';

const catalogPut = process.env.STRATA_CATALOG_PUT ??
    join(repository, 'build/dev/tests/tools/catalog_put');
const kKb = '/knowledgebase/demo';
const kReceivers = `${kKb}/strata/receivers`;

let server;
before(async () => { server = await startWith('demo', []); });

const get = async (path) => {
  const answer = await server.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const tables = async () => (await get(`${kKb}/strata/tables`)).tables;
const put = (...row) => execFileSync(catalogPut, [
  join(server.kbFolder('demo'), 'catalog.sqlite'), ...row.map(String),
]);

test('the manifest row is there as soon as the receiver is', async () => {
  assert.deepEqual(await tables(), []);
  await server.createReceiver('demo', 'weather');
  const row = { table: 'raw_extracted.stream_weather', source: 'stream:weather' };
  assert.deepEqual(await tables(), [{ ...row, state: 'deferred' }]);
  await server.land('demo', 'weather', [{ a: '1' }, { a: '2' }], 'one');
  assert.deepEqual(await tables(), [{ ...row, rows: 2, state: 'ready' }]);
  await server.restart();
  assert.deepEqual((await tables()).map(({ table, rows }) => [table, rows]),
                   [['raw_extracted.stream_weather', 2]]);
});

test('documents are computed from sources: no feed, stream or upload is one',
     { skip: missing(catalogPut) }, async () => {
  await server.createReceiver('demo', 'second');
  assert.deepEqual(await get(`${kKb}/documents`), { documents: [] });
  put('raw_extracted.pdf_1', 'contract-7.pdf', 'ready', 12);
  put('raw_extracted.pdf_2', 'contract-7.pdf', 'deferred');
  put('raw_extracted.sheet', 'prices.xlsx', 'ready', 3);
  put('raw_extracted.broken', 'scan.tif', 'error');
  put('raw_extracted.feed_x', 'feed:x', 'ready', 1);
  put('raw_extracted.upload_x', 'upload:x.csv', 'ready', 1);
  put('raw_extracted.stream_ghost', 'stream:ghost', 'ready', 1);
  put('raw_extracted.feeds', 'feedback.pdf', 'ready', 1);
  const documents = [
    { document: 'contract-7.pdf', status: 'deferred', tables: 2 },
    { document: 'feedback.pdf', status: 'ready', tables: 1 },
    { document: 'prices.xlsx', status: 'ready', tables: 1 },
    { document: 'scan.tif', status: 'error', tables: 1 },
  ];
  assert.deepEqual(await get(`${kKb}/documents`), { documents });
  const bySource = new Map((await tables()).map((row) => [row.source, row]));
  assert.deepEqual(bySource.get('prices.xlsx'), {
    table: 'raw_extracted.sheet', source: 'prices.xlsx', rows: 3, state: 'ready',
  });
  assert.deepEqual([...bySource.keys()].sort(), [
    'contract-7.pdf', 'feed:x', 'feedback.pdf', 'prices.xlsx', 'scan.tif', 'stream:ghost',
    'stream:second', 'stream:weather', 'upload:x.csv',
  ]);
  await server.restart();
  assert.deepEqual(await get(`${kKb}/documents`), { documents });
});

test('receivers: made, shown, listed, and made once', async () => {
  const settings = { stream: 'sensors', columns: ['ts', 'value'], max_body_bytes: 2_000_000 };
  const create = (members) => server.control(kReceivers, members);
  const made = await create(settings);
  assert.equal(made.status, 201, made.text);
  const shown = {
    stream: 'sensors', columns: ['ts', 'value'], partition: 'none', max_body_bytes: 2_000_000,
    view: { name: 'raw_extracted.stream_sensors', state: 'deferred' }, ingest: { state: 'open' },
    rows: 0, files: 0, bytes: 0, last_landed: null, rejected: 0,
    ingest_url: '/knowledgebase/demo/strata/ingest/sensors',
  };
  assert.deepEqual(made.json, shown);
  const again = await create(settings);
  assert.deepEqual([again.status, again.json], [200, shown]);
  for (const other of [{ columns: ['ts'] }, { columns: ['value', 'ts'] }, { columns: null },
                       { max_body_bytes: 1 }]) {
    const answer = await create({ ...settings, ...other });
    assert.deepEqual([answer.status, answer.json.code], [409, 'conflict'], answer.text);
  }
  await server.restart();
  assert.equal((await create(settings)).status, 200);
  assert.deepEqual(await get(`${kReceivers}/sensors`), shown);

  const landed = await server.land('demo', 'sensors', [{ ts: '1' }, { value: '2' }], 'one');
  await server.post('demo', 'sensors', '{"never":1}', { id: 'bad' });
  const after = {
    ...shown, view: { ...shown.view, state: 'ready' }, rows: 2, files: 1, bytes: landed.bytes,
    last_landed: landed.arrived_at, rejected: 1,
  };
  assert.deepEqual(await get(`${kReceivers}/sensors`), after);
  const { receivers } = await get(kReceivers);
  assert.ok(receivers.every(({ stream }, n) => n === 0 || receivers[n - 1].stream < stream));
  assert.deepEqual(receivers.find(({ stream }) => stream === 'sensors'), after);
  assert.equal((await server.get(`${kReceivers}/sensor`)).json.code, 'unknown_stream');
});

test('resync answers the state of the view, and again', async () => {
  await server.createReceiver('demo', 'synced');
  const resync = async () => (await server.control(`${kReceivers}/synced/resync`)).json.view;
  const name = 'raw_extracted.stream_synced';
  assert.deepEqual(await resync(), { name, state: 'deferred' });
  await server.land('demo', 'synced', [{ a: '1' }], 'one');
  assert.deepEqual([await resync(), await resync()],
                   [{ name, state: 'ready' }, { name, state: 'ready' }]);
});

const kRefused = [
  [{ stream: 'Has Space' }, 400, 'bad_id', /'has_space' would do/],
  [{ stream: 'has-dash' }, 400, 'bad_id', /'has_dash' would do/],
  [{ stream: '' }, 400, 'bad_id', /./], [{ stream: 'x'.repeat(64) }, 400, 'bad_id', /63/],
  [{}, 400, 'bad_request', /stream/],
  [{ stream: 'a', columns: [] }, 400, 'bad_request', /columns/],
  [{ stream: 'a', columns: ['x', 'X'] }, 400, 'bad_request', /'X'/],
  [{ stream: 'a', columns: ['x', 1] }, 400, 'bad_request', /columns/],
  [{ stream: 'a', columns: [''] }, 400, 'bad_request', /./],
  [{ stream: 'a', partition: 'day' }, 400, 'not_yet', /none/],
  [{ stream: 'a', partition: 'hour' }, 400, 'not_yet', /none/],
  [{ stream: 'a', partition: 'week' }, 400, 'bad_request', /none, day, hour/],
  [{ stream: 'a', max_body_bytes: 0 }, 400, 'bad_request', /max_body_bytes/],
  [{ stream: 'a', max_body_bytes: 64 * 1024 * 1024 + 1 }, 400, 'bad_request', /67108864/],
  [{ stream: 'a', colums: ['x'] }, 400, 'bad_request', /'colums'/],
];
test('receivers that cannot be are refused with the reason, and are not there', async () => {
  for (const [members, status, code, reason] of kRefused) {
    const answer = await server.control(kReceivers, members);
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
    assert.match(answer.json.detail, reason);
  }
  const form = await server.request('POST', kReceivers, { headers: {}, body: '{"stream":"a"}' });
  assert.deepEqual([form.status, form.json.code], [415, 'unsupported_media_type']);
  assert.equal((await server.get(`${kReceivers}/a`)).status, 404);
});

test('knowledgebases: made once, listed, shown; what cannot be is refused', async () => {
  await server.createKb('a-second_1');
  const list = (await get('/knowledgebase')).knowledgebase;
  assert.deepEqual(list.map(({ id }) => id), ['a-second_1', 'demo']);
  assert.deepEqual(await get('/knowledgebase/demo'), list[1]);
  assert.deepEqual(Object.keys(list[1]), ['id', 'uuid', 'backend', 'created_at']);
  assert.equal(list[1].backend, 'file');
  const cases = [
    [{ id: 'demo' }, 409, 'conflict', /exists/],
    [{ id: 'My Kb' }, 400, 'bad_id', /'my-kb' would do/],
    [{ id: 'x', backend: 'postgres' }, 400, 'bad_request', /--postgres/],
    [{ id: 'x', backend: 'oracle' }, 400, 'bad_request', /file/], [{}, 400, 'bad_request', /id/],
  ];
  for (const [members, status, code, reason] of cases) {
    const answer = await server.control('/knowledgebase', members);
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text);
    assert.match(answer.json.detail, reason);
  }
  await server.restart();
  assert.deepEqual((await get('/knowledgebase')).knowledgebase, list);
});
