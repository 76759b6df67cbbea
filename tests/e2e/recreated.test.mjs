// One of two processes deletes a stream or a kb while the other makes one of the same name anew:
// the new one's rows are read in both, though the old one's view was taken away meanwhile.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { stopDdlWorker } from './ddl_worker.mjs';
import { freshFolder, start, until } from './harness.mjs';
import { countStream } from './independent.mjs';

const kKb = 'demo';
const kRounds = 6;
const kTries = 50;

let servers;
before(async () => {
  const one = await start();
  servers = [one, await start({ data: one.data })];
  await one.createKb(kKb);
});

const generationOf = async (server) => (await server.metrics())[`strata_generation{kb="${kKb}"}`];
const receiverPath = (kb, stream) => `/knowledgebase/${kb}/strata/receivers/${stream}`;
const selectFrom = (stream) => `SELECT a FROM raw_extracted.stream_${stream} ORDER BY a`;

async function remove(server, path) {
  const answer = await server.request('DELETE', path);
  assert.equal(answer.status, 200, answer.text);
}

/// Until the name is free: a 409, or a 200 for a receiver, is the old one still.
async function createAnew(server, path, settings) {
  const make = async () => {
    const { status, text } = await server.control(path, settings);
    assert.ok([200, 201, 409, 503].includes(status), text);
    return status === 201;
  };
  await until(make, 'a free name');
}

async function expectRows(kb, stream, expected) {
  for (const server of servers) {
    assert.deepEqual(await server.rows(kb, selectFrom(stream)), expected);
  }
}

test('a stream made anew while the other process deletes the old one is read in both', async () => {
  await servers[0].createReceiver(kKb, 's');
  await servers[0].land(kKb, 's', [{ a: 'first' }], 'b');
  for (let round = 0; round < kRounds; ++round) {
    const [deleter, maker] = round % 2 === 0 ? servers : servers.toReversed();
    const removed = remove(deleter, receiverPath(kKb, 's'));
    await createAnew(maker, `/knowledgebase/${kKb}/strata/receivers`, { stream: 's' });
    await maker.land(kKb, 's', [{ a: `${round}` }], 'b');
    await expectRows(kKb, 's', [[`${round}`]]);
    await removed;
    await expectRows(kKb, 's', [[`${round}`]]);
  }
  assert.equal((await countStream(servers[0].streamFolder(kKb, 's'))).files, 1);
});

test('a kb made anew while the other process deletes the old one is read in both', async () => {
  const kb = 'whole';
  await servers[0].createKb(kb);
  for (let round = 0; round < kRounds; ++round) {
    const [deleter, maker] = round % 2 === 0 ? servers : servers.toReversed();
    const removed = remove(deleter, `/knowledgebase/${kb}?confirm=${kb}`);
    await createAnew(maker, '/knowledgebase', { id: kb });
    await maker.createReceiver(kb, 's');
    await maker.land(kb, 's', [{ a: `${round}` }], 'b');
    await expectRows(kb, 's', [[`${round}`]]);
    await removed;
    await expectRows(kb, 's', [[`${round}`]]);
  }
});

/// Deletes two streams at once: the worker that takes both views away is stopped while it does.
/// Answers it and the delete, which waits for it.
async function stopDelete(deleter) {
  for (let n = 0; n < kTries; ++n) {
    for (const stream of ['left', 'right']) {
      await deleter.createReceiver(kKb, stream);
      await deleter.land(kKb, stream, [{ a: 'old' }], 'b');
      for (const server of servers) {
        const isReady = async () => (await server.receiver(kKb, stream)).view.state === 'ready';
        await until(isReady, 'the view');
      }
    }
    // Moved by hand, so that the delete of the other finds both views without a stream.
    renameSync(deleter.streamFolder(kKb, 'right'), join(freshFolder(), 'right'));
    const removed = remove(deleter, receiverPath(kKb, 'left'));
    const worker = await stopDdlWorker(deleter, removed);
    if (worker !== undefined) return { worker, removed };
  }
  return assert.fail(`no worker was caught at its private copy in ${kTries} tries`);
}

const kJoin = 'SELECT l.a, r.a FROM raw_extracted.stream_left l, raw_extracted.stream_right r';

for (const reader of [0, 1]) {
  test(`views taken away though their streams were new again are made again, read by ${reader}`,
       async () => {
    const [deleter, maker] = servers;
    const { worker, removed } = await stopDelete(deleter);
    for (const stream of ['left', 'right']) {
      await maker.createReceiver(kKb, stream);
      await maker.land(kKb, stream, [{ a: `new ${stream}` }], 'b');
      // The old one's view is over the same path, so it serves the new one until it goes.
      await expectRows(kKb, stream, [[`new ${stream}`]]);
    }
    const generation = await generationOf(maker);
    process.kill(worker, 'SIGCONT');
    await removed;
    assert.equal(await generationOf(maker), generation + 1);
    // One statement misses both.
    assert.deepEqual(await servers[reader].rows(kKb, kJoin), [['new left', 'new right']]);
    for (const stream of ['left', 'right']) {
      await expectRows(kKb, stream, [[`new ${stream}`]]);
      await remove(deleter, receiverPath(kKb, stream));
    }
  });
}
