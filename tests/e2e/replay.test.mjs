// One id is one batch, for ever: sent again it is a replay with the first answer's figures, with
// other content it is a 422, and neither changes anything.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { sha256 } from './checker.mjs';
import { ndjson, startWith } from './harness.mjs';
import { countStream } from './independent.mjs';

const kUuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const kMembers = ['batch_id', 'rows', 'columns', 'bytes', 'file', 'body_sha256', 'file_sha256',
                  'arrived_at', 'replayed'];

let server;
before(async () => { server = await startWith('demo', ['events']); });

const post = (body, id, headers) => server.post('demo', 'events', body, { id, headers });
const count = async (stream = 'events') => {
  const rows = await server.rows('demo', `SELECT count(*) FROM raw_extracted.stream_${stream}`);
  return rows[0][0];
};

async function expectUnchanged(action) {
  const folder = server.streamFolder('demo', 'events');
  const state = async () => ({
    rows: await count(), files: await countStream(folder),
    registry: readdirSync(join(folder, 'columns')), failed: readdirSync(join(folder, 'failed')),
  });
  const earlier = await state();
  const answer = await action();
  assert.deepEqual(await state(), earlier);
  return answer;
}

function expectReused(answer, { id, first, body }) {
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.json.code, 'batch_id_reused');
  for (const named of [id, first.arrived_at, first.body_sha256, sha256(body)]) {
    assert.ok(answer.json.detail.includes(named), `${named} in: ${answer.json.detail}`);
  }
}

const kBody = ndjson([
  { a: '1', b: { x: [1, 2.5], y: null }, c: 1.50 }, { b: null, a: '' }, { d: true },
]);
const kSameCells = [
  ['keys reordered and spaces changed',
   ' { "c" : 1.5 , "b":{"x":[1, 2.5] ,"y" : null} ,\t"a":"1"}\r\n\n{"a":"","b":null}\n{"d":true}'],
  ['a null left out, another escape', '{"\\u0061":"1","b":{"x":[1,2.5],"y":null},"c":1.5}\n' +
   '{"a":""}\n{"d":true}\n'],
  ['a number as the same text', '{"a":1,"b":"{\\"x\\":[1,2.5],\\"y\\":null}","c":"1.5"}\n' +
   '{"a":""}\n{"d":"true"}\n'],
  ['columns by another case',
   '{"A":"1","b":{"x":[1,2.5],"y":null},"C":1.5}\n{"A":""}\n{"D":true}\n'],
];
const kOtherCells = [
  ['one cell changed', kBody.replace('"1"', '"2"')],
  ['empty text instead of null', kBody.replace('"b":null', '"b":""')],
  ['a number written otherwise', kBody.replace('1.5', '1.50')],
  ['rows in another order', kBody.trim().split('\n').reverse().join('\n')],
  ['a row less', kBody.split('\n').slice(0, 2).join('\n')],
  ['a row more', `${kBody}{}\n`],
  ['a column the stream does not have', kBody.replace('"d"', '"never"')],
  ['nested keys in another order', kBody.replace('{"x":[1,2.5],"y":null}',
                                                 '{"y":null,"x":[1,2.5]}')],
];

test('the same id again: the same body or the same cells are a replay, also after a restart',
     async () => {
  const first = await server.land('demo', 'events', kBody, 'same');
  assert.deepEqual(Object.keys(first), kMembers);
  const { arrived_at: arrivedAt, file_sha256: fileDigest, bytes, ...known } = first;
  assert.deepEqual(known, {
    batch_id: 'same', rows: 3, columns: 4, file: 'data/same.parquet', body_sha256: sha256(kBody),
    replayed: false,
  });
  assert.match(arrivedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.match(fileDigest, /^[0-9a-f]{64}$/);
  assert.ok(bytes > 0);
  const again = { ...first, replayed: true };
  for (const restarted of [false, true]) {
    if (restarted) await server.restart();
    for (const [name, body] of [['the same body', kBody], ...kSameCells]) {
      const answer = await expectUnchanged(() => post(body, 'same'));
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
      assert.deepEqual(answer.json, again, name);
    }
  }
});

for (const [name, body] of kOtherCells) {
  test(`the same id with other content is a 422: ${name}`, async () => {
    const first = (await post(kBody, 'same')).json;
    const answer = await expectUnchanged(() => post(body, 'same'));
    expectReused(answer, { id: 'same', first, body });
  });
}

test('a replay comes before the verdict: a batch that would be refused today', async () => {
  // Its stream is full: a new column is refused, but not the batches that are there.
  const wide = (first, many) => ndjson(
      [Object.fromEntries(Array.from({ length: many }, (_, n) => [`c${first + n}`, 'x']))]);
  await server.createReceiver('demo', 'full');
  const first = await server.land('demo', 'full', wide(0, 600), 'first');
  await server.land('demo', 'full', wide(600, 424), 'second');
  const send = (body, id) => server.post('demo', 'full', body, { id });
  assert.equal((await send(wide(1024, 1), 'third')).status, 400);
  const again = { ...first, replayed: true };
  assert.deepEqual((await send(wide(0, 600), 'first')).json, again);
  assert.deepEqual((await send(wide(0, 600).replaceAll(',', ' , '), 'first')).json, again);

  // One that is no batch at all under a known id: other content, and still not a 400.
  const broken = '{"a":';
  const answer = await expectUnchanged(() => post(broken, 'same'));
  expectReused(answer, { id: 'same', first: (await post(kBody, 'same')).json, body: broken });
});

test('a rejected id is not consumed', async () => {
  assert.equal((await post('{"a":', 'later-good')).status, 400);
  assert.equal((await server.land('demo', 'events', kBody, 'later-good')).replayed, false);
});

test('one id belongs to one stream: another stream has its own', async () => {
  await server.createReceiver('demo', 'others');
  const first = await server.land('demo', 'events', [{ a: '1' }], 'shared');
  const other = await server.land('demo', 'others', [{ a: '2' }], 'shared');
  assert.equal(other.replayed, false);
  assert.notEqual(other.body_sha256, first.body_sha256);
  assert.equal(await count('others'), 1);
});

test('without an id: a UUIDv7, a warning, and the rows again', async () => {
  const earlier = await count();
  const answers = [await post(ndjson([{ a: 'x' }])), await post(ndjson([{ a: 'x' }]))];
  for (const { status, headers, json } of answers) {
    assert.equal(status, 200);
    assert.match(json.batch_id, kUuidV7);
    assert.match(headers['strata-warning'], /Idempotency-Key.*again/);
    assert.equal(json.replayed, false);
  }
  const [one, two] = answers.map(({ json }) => json.batch_id);
  assert.ok(one < two, 'they sort by time');
  assert.equal(await count(), earlier + 2);
  assert.equal((await post(ndjson([{ a: 'x' }]), one)).json.replayed, true);
  assert.equal((await post(kBody, 'same')).headers['strata-warning'], undefined);
});

test('quoted and bare are one id, capitals are another', async () => {
  const rows = ndjson([{ a: 'quoted' }]);
  const first = (await post(rows, '"Quoted-1"')).json;
  assert.deepEqual({ id: first.batch_id, replayed: first.replayed },
                   { id: 'Quoted-1', replayed: false });
  assert.deepEqual((await post(rows, 'Quoted-1')).json, { ...first, replayed: true });
  assert.equal((await post(rows, 'quoted-1')).json.replayed, false);
});

const kBadKeys = [
  ['order 66', 'order-66'], ['a/b', 'a-b'], ['_x', 'x'], ['-', undefined], ['.hidden', 'hidden'],
  ['x'.repeat(129), 'x'.repeat(128)], ['2026-06-29T00:00:00Z', '2026-06-29T00-00-00Z'],
  ['"open', 'open'], ['""', undefined], ['', undefined], ['a,b', 'a-b'],
];
for (const [key, proposal] of kBadKeys) {
  test(`an illegal key is a 400 that proposes a legal one: ${key.slice(0, 20)}`, async () => {
    const answer = await post(kBody, key);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.code, 'bad_id');
    if (proposal === undefined) return;
    assert.ok(answer.json.detail.includes(`'${proposal}' would do`), answer.json.detail);
    assert.equal((await post(ndjson([{ a: 'x' }]), proposal)).status, 200);
  });
}

test('two keys are none', async () => {
  const answer = await server.request('POST', '/knowledgebase/demo/strata/ingest/events', {
    headers: ['Content-Type', 'application/x-ndjson', 'Host', 'localhost', 'Idempotency-Key', 'a1',
              'Idempotency-Key', 'a2', 'Content-Length', String(kBody.length)],
    body: kBody,
  });
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.code, 'bad_id');
});
