// A process stopped while it publishes a generation: it holds up views, and nothing else; and
// where it lost its lease meanwhile (the kb lock only queues), nothing is lost nor overwritten.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { hasPrivateCopyOpen, isStopped, stopDdlWorker } from './ddl_worker.mjs';
import { ageGenerations, GenerationWatch } from './generations.mjs';
import { program, repository, start, startWith, until } from './harness.mjs';

const publishView = process.env.STRATA_PUBLISH_VIEW ??
    join(repository, 'build/dev/tests/tools/publish_view');
const kKb = 'demo';
const kOthers = 20;
const kTries = 50;

const generationOf = async (server) => (await server.metrics())[`strata_generation{kb="${kKb}"}`];
const isReady = async (server, stream) =>
    (await server.receiver(kKb, stream)).view.state === 'ready';
const cellsOf = (server, stream) =>
    server.rows(kKb, `SELECT a FROM raw_extracted.stream_${stream} ORDER BY a`);
const viewsOf = async (server) => (await server.rows(kKb, 'SHOW TABLES'))
    .flat().map((name) => name.replace('raw_extracted.', '')).toSorted();

/// Lands the first batch of a new stream, and stops the worker that makes its view where it has
/// its private copy open. Answers the worker, the stream and the landing, which may still be
/// waiting. One that was too quick counts for nothing: another stream is tried.
async function pauseDdlWorker(server) {
  for (let n = 0; n < kTries; ++n) {
    const stream = `paused${n}`;
    await server.createReceiver(kKb, stream);
    const landing = server.land(kKb, stream, [{ a: 'first' }], 'b');
    const worker = await stopDdlWorker(server, landing);
    if (worker !== undefined) return { worker, stream, landing };
    await landing;
    await until(() => isReady(server, stream), 'the view');
  }
  return assert.fail(`no worker was caught at its private copy in ${kTries} tries`);
}

test('a paused writer holds up views, and nothing else', async () => {
  const one = await startWith(kKb, ['known', 'waits']);
  const two = await start({ data: one.data });
  await one.land(kKb, 'known', [{ a: '1' }], 'b1');
  await until(() => isReady(one, 'known'), 'the view');
  const { worker, stream, landing } = await pauseDdlWorker(one);
  const paused = await generationOf(one);
  await landing;
  for (const [n, server] of [one, two].entries()) {
    await server.land(kKb, 'known', [{ a: `${n + 2}` }], `b${n + 2}`);
    await server.land(kKb, 'waits', [{ a: `${n}` }], `b${n}`);
  }
  for (const server of [one, two]) {
    assert.deepEqual(await cellsOf(server, 'known'), [['1'], ['2'], ['3']]);
    for (const waiting of [stream, 'waits']) assert.ok(!await isReady(server, waiting));
    assert.equal(await generationOf(server), paused);
  }
  process.kill(worker, 'SIGCONT');
  for (const server of [one, two]) {
    for (const waiting of [stream, 'waits']) {
      // What a landing finds missing, it asks for again.
      const comesUp = async () => {
        await server.land(kKb, waiting, [{ a: 'again' }], 'again');
        return isReady(server, waiting);
      };
      await until(comesUp, 'the view');
    }
    assert.deepEqual(await cellsOf(server, stream), [['again'], ['first']]);
    assert.deepEqual(await cellsOf(server, 'waits'), [['0'], ['1'], ['again']]);
  }
  assert.equal(await generationOf(two), paused + 2);
});

/// The server itself, once its worker is done: the copy is whole, and its number not yet claimed.
async function pauseServerInstead(server, worker) {
  process.kill(server.pid, 'SIGSTOP');
  await until(() => isStopped(server.pid), 'the stop');
  process.kill(worker, 'SIGCONT');
  await until(() => !hasPrivateCopyOpen(worker), 'the end of the DDL');
  return server.pid;
}

for (const who of ['worker', 'server']) {
  test(`a writer whose ${who} sleeps while ${kOthers} others publish loses nothing`, async () => {
    const slow = await startWith(kKb, ['awake']);
    const other = await start({ data: slow.data });
    const folder = slow.kbFolder(kKb);
    await slow.land(kKb, 'awake', [{ a: 'x' }], 'b');
    await until(() => isReady(slow, 'awake'), 'the view');
    const { worker, stream, landing } = await pauseDdlWorker(slow);
    const sleeper = who === 'worker' ? worker : await pauseServerInstead(slow, worker);
    const watch = new GenerationWatch(folder);
    const views = await viewsOf(other);
    const before = watch.newest;
    for (let n = 1; n <= kOthers; ++n) {
      ageGenerations(folder);
      const { stdout } = await promisify(execFile)(publishView, [program, folder, `other${n}`]);
      assert.equal(Number(stdout), before + n);
      watch.look();
      assert.deepEqual(await cellsOf(other, 'awake'), [['x']]);
    }
    // The number that the sleeper set out for was taken, and is collected by now.
    assert.ok(watch.tombstones.includes(before + 1), `${watch.tombstones}`);
    assert.equal(watch.newest, before + kOthers);

    process.kill(sleeper, 'SIGCONT');
    await landing;
    await until(() => isReady(slow, stream), 'the view');
    watch.look();
    assert.equal(watch.newest, before + kOthers + 1);
    const others = Array.from({ length: kOthers }, (_, n) => `other${n + 1}`);
    for (const server of [slow, other]) {
      assert.equal(await generationOf(server), watch.newest);
      assert.deepEqual(await viewsOf(server),
                       [...views, ...others, `stream_${stream}`].toSorted());
      assert.deepEqual(await cellsOf(server, stream), [['first']]);
    }
    assert.deepEqual(readdirSync(join(folder, 'staging')), []);
  });
}
