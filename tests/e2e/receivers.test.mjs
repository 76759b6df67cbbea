// Receivers that change and streams and kbs that go, with two server processes on one root: what
// one does holds in the other from the next request on.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { kKillPointExit, ndjson, run, start, until } from './harness.mjs';
import { countStream } from './independent.mjs';
import { kDeleteBeforeMove, kDeleteFromMove, kDeleteKb } from './kill_points.mjs';

const kKb = 'demo';

let one;
let two;
before(async () => {
  one = await start();
  two = await start({ data: one.data });
  await one.createKb(kKb);
});

const address = (stream, kb = kKb) => `/knowledgebase/${kb}/strata/receivers/${stream}`;
const patch = (server, stream, settings) => server.request('PATCH', address(stream), {
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(settings),
});
const remove = (server, stream, kb) => server.request('DELETE', address(stream, kb));
const send = (server, stream, rows, id) => server.post(kKb, stream, ndjson(rows), { id });
const moved = (answer, kb = kKb) => join(one.kbFolder(kb), answer.json.moved_to);
const dropsOf = async (server, stream) => (await server.metrics())[
    `strata_lock_acquisitions_total{kb="${kKb}",purpose="drop",stream="${stream}"}`] ?? 0;
const generationOf = async (server) => (await server.metrics())[`strata_generation{kb="${kKb}"}`];

function refused(answer, status, code, detail) {
  assert.deepEqual({ status: answer.status, code: answer.json.code }, { status, code },
                   answer.text);
  assert.match(answer.json.detail, detail);
}

test('settings that one process changes hold in the other from the next batch on', async () => {
  await one.createReceiver(kKb, 'change', { columns: ['a'] });
  assert.equal((await send(two, 'change', [{ a: 1 }], 'b1')).status, 200);
  refused(await send(two, 'change', [{ a: 1, b: 2 }], 'b2'), 400, 'bad_batch', /b/);

  const added = await patch(one, 'change', { columns: ['a', 'b'], max_body_bytes: 2000 });
  assert.equal(added.status, 200, added.text);
  assert.deepEqual(added.json.columns, ['a', 'b']);
  assert.equal(added.json.max_body_bytes, 2000);
  assert.equal((await send(two, 'change', [{ a: 1, b: 2 }], 'b2')).status, 200);
  refused(await send(two, 'change', [{ a: 'x'.repeat(3000) }], 'b3'), 413, 'body_too_large',
          /2000|2,000/);
  refused(await send(two, 'change', [{ c: 1 }], 'b4'), 400, 'bad_batch', /c/);

  const any = await patch(two, 'change', { columns: null });
  assert.equal(any.json.columns, null);
  assert.equal(any.json.max_body_bytes, 2000);
  assert.equal((await send(one, 'change', [{ c: 1 }], 'b4')).status, 200);
  for (const server of [one, two]) {
    const { columns, max_body_bytes: limit } = await server.receiver(kKb, 'change');
    assert.deepEqual({ columns, limit }, { columns: null, limit: 2000 });
  }
  const files = readdirSync(join(one.streamFolder(kKb, 'change'), 'receiver')).sort();
  assert.deepEqual(files, ['000001.json', '000002.json', '000003.json']);
});

test('the same settings again publish nothing', async () => {
  await one.createReceiver(kKb, 'same', { columns: ['a'] });
  const answer = await patch(one, 'same', { columns: ['a'], partition: 'none' });
  assert.equal(answer.status, 200, answer.text);
  const files = readdirSync(join(one.streamFolder(kKb, 'same'), 'receiver'));
  assert.deepEqual(files, ['000001.json']);
});

test('changes from both at once all take effect', async () => {
  await one.createReceiver(kKb, 'race', { columns: ['a'] });
  const answers = await Promise.all([
    patch(one, 'race', { columns: null }),
    patch(two, 'race', { max_body_bytes: 3000 }),
  ]);
  assert.deepEqual(answers.map(({ status }) => status), [200, 200]);
  for (const server of [one, two]) {
    const { columns, max_body_bytes: limit } = await server.receiver(kKb, 'race');
    assert.deepEqual({ columns, limit }, { columns: null, limit: 3000 });
  }
});

test('a list may leave out only columns in which nothing ever landed', async () => {
  await one.createReceiver(kKb, 'rules', { columns: ['a', 'typo'] });
  assert.equal((await patch(one, 'rules', { columns: ['a', 'fixed'] })).status, 200);
  await one.land(kKb, 'rules', [{ a: '1', fixed: null }], 'b1');
  refused(await patch(two, 'rules', { columns: ['fixed'] }), 409, 'conflict', /'a'/);
  const fewer = await patch(two, 'rules', { columns: ['a'] });
  assert.equal(fewer.status, 200, fewer.text);
  refused(await send(one, 'rules', [{ fixed: 1 }], 'b2'), 400, 'bad_batch', /fixed/);

  assert.equal((await patch(one, 'rules', { columns: null })).status, 200);
  await two.land(kKb, 'rules', [{ b: 'x', c: 'y' }], 'b3');
  refused(await patch(one, 'rules', { columns: ['a', 'd'] }), 409, 'conflict', /'b', 'c'/);
  refused(await patch(one, 'rules', { columns: ['A', 'b', 'c'] }), 409, 'conflict',
          /column 'a' already/);
  assert.equal((await patch(one, 'rules', { columns: ['a', 'b', 'c', 'd'] })).status, 200);
  assert.deepEqual((await one.columns(kKb, 'rules')).slice(0, -2),
                   ['a', 'typo', 'fixed', 'b', 'c', 'd']);
});

test('what cannot be is refused and changes nothing', async () => {
  await one.createReceiver(kKb, 'no');
  await one.land(kKb, 'no', [{ a: 1 }], 'b1');
  refused(await patch(one, 'no', { partition: 'day' }), 400, 'not_yet', /partition/);
  refused(await patch(one, 'no', { max_body_bytes: 1e9 }), 400, 'bad_request', /max_body_bytes/);
  refused(await patch(one, 'no', { columns: [] }), 400, 'bad_request', /columns is empty/);
  refused(await patch(one, 'no', { colour: 1 }), 400, 'bad_request', /colour/);
  const wide = Array.from({ length: 1024 }, (_, n) => `c${n}`);
  refused(await patch(one, 'no', { columns: ['a', ...wide] }), 400, 'bad_request', /1024/);
  refused(await patch(one, 'unknown', { columns: null }), 404, 'unknown_stream', /./);
  assert.equal((await patch(one, 'no', { columns: ['a', ...wide.slice(1)] })).status, 200);
  // 1,024 names stand in the registry, so even a shorter list has no room for another.
  refused(await patch(one, 'no', { columns: ['a', 'new'] }), 409, 'conflict', /1025/);
  const { columns } = await two.receiver(kKb, 'no');
  assert.equal(columns.length, 1024);
});

test('a deleted stream is kept aside, and its name is free at once in both processes', async () => {
  await one.createReceiver(kKb, 'gone');
  await two.land(kKb, 'gone', [{ a: 1 }, { a: 2 }], 'b1');
  await one.land(kKb, 'gone', [{ a: 3 }], 'b2');
  const generation = await generationOf(one);
  const answer = await remove(one, 'gone');
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.stream, 'gone');
  assert.match(answer.json.moved_to,
               /^strata\/streams\/\.deleted\/gone\.\d{8}T\d{6}Z\.[0-9a-f]{8}$/);
  assert.equal(await dropsOf(one, 'gone'), 1);
  assert.equal(await generationOf(two), generation + 1);
  const { files, rows } = await countStream(moved(answer));
  assert.deepEqual({ files, rows }, { files: 2, rows: 3 });

  for (const server of [one, two]) {
    refused(await send(server, 'gone', [{ a: 4 }], 'b3'), 404, 'unknown_stream', /./);
    refused(await send(server, 'gone', [{ a: 1 }, { a: 2 }], 'b1'), 404, 'unknown_stream', /./);
    assert.equal((await server.get(address('gone'))).status, 404);
    assert.equal((await remove(server, 'gone')).status, 404);
    const { tables } = (await server.get(`/knowledgebase/${kKb}/strata/tables`)).json;
    assert.deepEqual(tables.filter(({ source }) => source === 'stream:gone'), []);
    refused(await server.query(kKb, 'SELECT * FROM raw_extracted.stream_gone'), 404,
            'unknown_table', /./);
  }

  await two.createReceiver(kKb, 'gone');
  assert.deepEqual((({ rows, files }) => ({ rows, files }))(await one.receiver(kKb, 'gone')),
                   { rows: 0, files: 0 });
  await one.land(kKb, 'gone', [{ z: 'new' }], 'b1');
  for (const server of [one, two]) {
    assert.deepEqual(await server.rows(kKb, 'SELECT z, _batch_id FROM raw_extracted.stream_gone'),
                     [['new', 'b1']]);
  }
});

test('a folder moved back is the stream again', async () => {
  await one.createReceiver(kKb, 'back');
  await one.land(kKb, 'back', [{ a: 'kept' }], 'b1');
  const folder = one.streamFolder(kKb, 'back');
  const aside = moved(await remove(two, 'back'));
  assert.equal((await one.get(address('back'))).status, 404);
  renameSync(aside, folder);
  const replayed = await send(one, 'back', [{ a: 'kept' }], 'b1');
  assert.equal(replayed.json.replayed, true, replayed.text);
  await until(async () => (await two.receiver(kKb, 'back')).view.state === 'ready', 'the view');
  assert.deepEqual(await two.rows(kKb, 'SELECT a FROM raw_extracted.stream_back'), [['kept']]);
});

test('the numbers of a stream that was moved away and back are those of its files', async () => {
  await one.createReceiver(kKb, 'counted');
  await one.land(kKb, 'counted', [{ a: 1 }], 'b1');
  await two.land(kKb, 'counted', [{ a: 2 }, { a: 3 }], 'b2');
  const folder = one.streamFolder(kKb, 'counted');
  const expectCounted = async (expected) => {
    const counted = await countStream(folder);
    assert.deepEqual({ files: counted.files, rows: counted.rows }, expected);
    for (const server of [one, two]) {
      await until(async () => (await server.receiver(kKb, 'counted')).files === counted.files,
                  'the numbers');
      const { files, rows, bytes } = await server.receiver(kKb, 'counted');
      assert.deepEqual({ files, rows, bytes }, counted);
    }
  };
  const aside = moved(await remove(one, 'counted'));
  // The other gives it up when it next looks at what it has open.
  await until(() => readdirSync(join(aside, '_tmp')).length === 0, 'both gave the stream up');
  renameSync(aside, folder);
  await expectCounted({ files: 2, rows: 3 });
  await one.land(kKb, 'counted', [{ a: 4 }], 'b3');
  await two.land(kKb, 'counted', [{ a: 5 }], 'b4');
  await expectCounted({ files: 4, rows: 5 });
});

test('every batch acknowledged while its stream is deleted lies in a folder that was named',
     async () => {
  const folders = [];
  const acknowledged = [];
  for (let round = 0; round < 5; ++round) {
    await one.createReceiver(kKb, 'busy');
    let over = false;
    const clients = Array.from({ length: 8 }, async (_, client) => {
      const server = client % 2 === 0 ? one : two;
      for (let n = 0; !over; ++n) {
        const id = `r${round}-c${client}-${n}`;
        const answer = await send(server, 'busy', [{ id }], id);
        assert.ok([200, 404, 503].includes(answer.status), answer.text);
        if (answer.status === 200) acknowledged.push(id);
      }
    });
    await until(() => acknowledged.length > 40 * (round + 1), 'batches');
    const answer = await remove(round % 2 === 0 ? one : two, 'busy');
    assert.equal(answer.status, 200, answer.text);
    folders.push(moved(answer));
    over = true;
    await Promise.all(clients);
  }
  const kept = folders.flatMap((folder) => readdirSync(join(folder, 'data')));
  const names = new Set(kept);
  assert.deepEqual(acknowledged.filter((id) => !names.has(`${id}.parquet`)), []);
  for (const server of [one, two]) {
    assert.equal((await server.get('/readyz')).status, 200);
  }
});

test('a delete that is cut anywhere is undone or finished by the next start', async () => {
  const data = one.data;
  for (const point of [...kDeleteBeforeMove, ...kDeleteFromMove]) {
    const stays = kDeleteBeforeMove.includes(point);
    const stream = point.replace(':', '_');
    const doomed = await start({ data, env: { STRATA_CRASH_AT: point } });
    await doomed.createReceiver(kKb, stream);
    await doomed.land(kKb, stream, [{ a: point }], 'b1');
    await remove(doomed, stream).catch(() => {});
    assert.equal((await doomed.exited()).code, kKillPointExit, point);
    const next = await start({ data });
    const { status } = await next.get(address(stream));
    assert.equal(status, stays ? 200 : 404, point);
    const sql = `SELECT a FROM raw_extracted.stream_${stream}`;
    if (stays) {
      assert.deepEqual(await next.rows(kKb, sql), [[point]]);
    } else {
      await until(async () => (await next.query(kKb, sql)).status === 404, 'the view to go');
      assert.equal((await next.query(kKb, sql)).json.code, 'unknown_table');
    }
    const { tables } = (await next.get(`/knowledgebase/${kKb}/strata/tables`)).json;
    const rows = tables.filter(({ source }) => source === `stream:${stream}`);
    assert.equal(rows.length, stays ? 1 : 0, point);
    await next.stop();
  }
});

test('a kb is deleted only when its name is given twice, and the name is free at once',
     async () => {
  const kb = 'whole';
  await one.createKb(kb);
  await one.createReceiver(kb, 's');
  await one.land(kb, 's', [{ a: 'old' }], 'b1');
  await two.land(kb, 's', [{ a: 'old' }], 'b2');
  for (const server of [one, two]) {
    assert.deepEqual(await server.rows(kb, 'SELECT count(*) FROM raw_extracted.stream_s'), [[2]]);
  }
  const path = `/knowledgebase/${kb}`;
  for (const query of ['', '?confirm=', '?confirm=demo']) {
    refused(await one.request('DELETE', path + query), 400, 'bad_request', /\?confirm=whole/);
  }
  const answer = await one.request('DELETE', `${path}?confirm=${kb}`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.id, kb);
  assert.match(answer.json.moved_to, /^kb\/\.deleted\/whole\.\d{8}T\d{6}Z\.[0-9a-f]{8}$/);
  const aside = join(one.data, answer.json.moved_to);
  assert.equal((await countStream(join(aside, 'strata/streams/s'))).rows, 2);
  for (const server of [one, two]) {
    for (const at of [path, `${path}/strata/receivers/s`]) {
      assert.equal((await server.get(at)).json.code, 'unknown_knowledgebase');
    }
    const sent = await server.post(kb, 's', ndjson([{ a: 1 }]), { id: 'b3' });
    assert.equal(sent.json.code, 'unknown_knowledgebase');
    const query = await server.query(kb, 'SELECT * FROM raw_extracted.stream_s');
    assert.equal(query.json.code, 'unknown_knowledgebase');
    const { knowledgebase: list } = (await server.get('/knowledgebase')).json;
    assert.deepEqual(list.map(({ id }) => id), [kKb]);
  }
  // Its generations have the numbers of the old one's, and nothing of it is read.
  await two.createKb(kb);
  await two.createReceiver(kb, 's');
  await one.land(kb, 's', [{ a: 'new' }], 'b1');
  for (const server of [one, two]) {
    assert.deepEqual(await server.rows(kb, 'SELECT a FROM raw_extracted.stream_s'), [['new']]);
  }
  assert.ok(existsSync(join(aside, 'kb.json')));
});

test('a delete of a kb that is cut after its move has happened', async () => {
  const data = one.data;
  const [point] = kDeleteKb;
  const doomed = await start({ data, env: { STRATA_CRASH_AT: point } });
  await doomed.createKb('cut');
  await doomed.request('DELETE', '/knowledgebase/cut?confirm=cut').catch(() => {});
  assert.equal((await doomed.exited()).code, kKillPointExit);
  assert.equal((await one.get('/knowledgebase/cut')).status, 404);
  const next = await start({ data });
  await next.createKb('cut');
  assert.equal((await next.get('/readyz')).status, 200);
  assert.equal((await next.request('DELETE', '/knowledgebase/cut?confirm=cut')).status, 200);
  await next.stop();
});

test('the commands do the same, and delete only with --yes', async () => {
  const url = ['--url', one.url];
  await one.createReceiver(kKb, 'cli', { columns: ['a'] });
  const set = await run(['receiver', 'set', kKb, 'cli', '--columns', 'a,b', '--max-body', '5000',
                         ...url]);
  assert.equal(set.code, 0, set.log);
  assert.deepEqual((await two.receiver(kKb, 'cli')).columns, ['a', 'b']);
  assert.equal((await run(['receiver', 'set', kKb, 'cli', '--any-columns', ...url])).code, 0);
  assert.equal((await two.receiver(kKb, 'cli')).columns, null);
  assert.equal((await run(['receiver', 'set', kKb, 'cli', ...url])).code, 2);
  assert.equal((await run(['receiver', 'delete', kKb, 'cli', ...url])).code, 2);
  assert.equal((await two.get(address('cli'))).status, 200);
  const gone = await run(['receiver', 'delete', kKb, 'cli', '--yes', ...url]);
  assert.equal(gone.code, 0, gone.log);
  assert.match(gone.out, /strata\/streams\/\.deleted\/cli\./);
  assert.equal((await two.get(address('cli'))).status, 404);
  await one.createKb('clikb');
  assert.equal((await run(['kb', 'delete', 'clikb', ...url])).code, 2);
  const kb = await run(['kb', 'delete', 'clikb', '--yes', ...url]);
  assert.equal(kb.code, 0, kb.log);
  assert.match(kb.out, /kb\/\.deleted\/clikb\./);
  assert.equal((await two.get('/knowledgebase/clikb')).status, 404);
});
