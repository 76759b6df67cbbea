// Two server processes on one root, nothing between them but the folder.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { acquisitions, ndjson, start, until } from './harness.mjs';
import { countStream, readParquet } from './independent.mjs';

const kKb = 'demo';
const kIds = 2000;
const kSendsPerId = 8;
const kClients = 8;
const kFreshStreams = 5;

let one;
let two;
before(async () => {
  one = await start();
  two = await start({ data: one.data });
  await one.createKb(kKb);
});

const batchFiles = (stream) => readdirSync(join(one.streamFolder(kKb, stream), 'data'))
                                   .filter((name) => name !== '.schema.parquet');
const generationOf = async (server) => (await server.metrics())[`strata_generation{kb="${kKb}"}`];

/// Both show the count of the files, once the other's checkpoint has been read.
async function expectSameNumbers(stream) {
  const counted = await countStream(one.streamFolder(kKb, stream));
  for (const server of [one, two]) {
    await until(async () => (await server.receiver(kKb, stream)).files === counted.files,
                'numbers that include the other process');
    const { files, rows, bytes } = await server.receiver(kKb, stream);
    assert.deepEqual({ files, rows, bytes }, counted);
  }
}

/// Runs `count` jobs, `width` at a time.
async function inParallel(count, width, job) {
  let next = 0;
  const worker = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

test('each of many ids, sent often from both, lands once and is answered so', async () => {
  await one.createReceiver(kKb, 'ids');
  const fresh = new Map();
  // Neighbours in time are sends of one id, to either process.
  await inParallel(kIds * kSendsPerId, kClients, async (n) => {
    const id = `id-${Math.floor(n / kSendsPerId)}`;
    const answer = await (n % 2 === 0 ? one : two).post(kKb, 'ids', ndjson([{ id }]), { id });
    assert.equal(answer.status, 200, answer.text);
    if (!answer.json.replayed) fresh.set(id, (fresh.get(id) ?? 0) + 1);
  });
  assert.equal(batchFiles('ids').length, kIds);
  assert.equal(fresh.size, kIds);
  assert.deepEqual([...fresh.values()].filter((count) => count !== 1), []);
  const counts = 'SELECT count(*), count(DISTINCT id) FROM raw_extracted.stream_ids';
  assert.deepEqual(await two.rows(kKb, counts), [[kIds, kIds]]);
  await expectSameNumbers('ids');
});

test('twenty first landings at once make one generation with the view', async () => {
  const takenTogether = [];
  for (let round = 0; round < kFreshStreams; ++round) {
    const stream = `fresh${round}`;
    await one.createReceiver(kKb, stream);
    const generation = await generationOf(one);
    await Promise.all(Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? one : two).land(kKb, stream, [{ n }], `first-${n}`)));
    for (const server of [one, two]) {
      // By landings alone, before any query asks for it.
      const isReady = async () => (await server.receiver(kKb, stream)).view.state === 'ready';
      await until(isReady, 'the view');
    }
    for (const server of [one, two]) {
      const rows = await server.rows(kKb, `SELECT count(*) FROM raw_extracted.stream_${stream}`);
      assert.deepEqual(rows, [[20]]);
    }
    assert.equal(await generationOf(two), generation + 1);
    takenTogether.push(await Promise.all([one, two].map(
        async (server) => acquisitions(await server.metrics(), stream))));
  }
  // One lock for the stream. Another is allowed only to a process that looked for the view just
  // before it was there and tried the lock just after its release: at most one a process, and not
  // every time.
  for (const taken of takenTogether) {
    assert.ok(['0,1', '1,0', '1,1'].includes(`${taken}`), `${taken}`);
  }
  assert.ok(takenTogether.some(([ofOne, ofTwo]) => ofOne + ofTwo === 1), `${takenTogether}`);
});

test('Temp and temp sent at once are one column in its first spelling', async () => {
  await one.createReceiver(kKb, 'spelling');
  await one.land(kKb, 'spelling', [{ first: 1 }], 'first');
  let done = false;
  const reader = (async () => {
    while (!done) {
      const names = await two.columns(kKb, 'spelling');
      const folded = new Set(names.map((name) => name.toLowerCase()));
      assert.equal(folded.size, names.length, `a reader saw two of one: ${names}`);
    }
  })();
  for (let round = 0; round < 100; ++round) {
    const landed = await Promise.all([
      one.land(kKb, 'spelling', [{ [`Temp${round}`]: 1 }], `big-${round}`),
      two.land(kKb, 'spelling', [{ [`temp${round}`]: 2 }], `small-${round}`),
    ]);
    assert.deepEqual(landed.map(({ rows }) => rows), [1, 1]);
  }
  done = true;
  await reader;
  // The view folds case, so only the files tell whether both wrote the first spelling.
  for (let round = 0; round < 100; ++round) {
    const written = await Promise.all(['big', 'small'].map(async (side) => {
      const file = join(one.streamFolder(kKb, 'spelling'), `data/${side}-${round}.parquet`);
      return (await readParquet(file)).columns[0];
    }));
    assert.equal(written[0], written[1]);
    assert.equal(written[0].toLowerCase(), `temp${round}`);
  }
  const names = (await one.columns(kKb, 'spelling')).slice(0, -2);
  assert.equal(names.length, 101);
  assert.deepEqual(names, (await two.columns(kKb, 'spelling')).slice(0, -2));
  const sums = names.slice(1).map((name) => `sum(CAST("${name}" AS INT))`).join();
  const [totals] = await one.rows(kKb, `SELECT ${sums} FROM raw_extracted.stream_spelling`);
  assert.deepEqual(new Set(totals.map(Number)), new Set([3]));
  await expectSameNumbers('spelling');
});

test('the cap of columns holds under twenty batches at once', async () => {
  await one.createReceiver(kKb, 'wide');
  const columns = (prefix, count) => Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`${prefix}${n}`, 'x']));
  await one.land(kKb, 'wide', [columns('base', 1000)], 'base');
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? one : two)
          .post(kKb, 'wide', ndjson([columns(`b${n}_`, 10)]), { id: `b${n}` })));
  const statuses = answers.map(({ status }) => status).sort();
  // 24 places are left: two batches of ten find room.
  assert.deepEqual(statuses, [200, 200, ...Array(18).fill(400)]);
  for (const server of [one, two]) {
    assert.equal((await server.columns(kKb, 'wide')).length, 1020 + 2);
  }
});

test('a rejected batch is counted by both', async () => {
  await one.createReceiver(kKb, 'rejects');
  assert.equal((await one.post(kKb, 'rejects', 'no json', { id: 'a' })).status, 400);
  assert.equal((await two.post(kKb, 'rejects', 'no json', { id: 'b' })).status, 400);
  for (const server of [one, two]) {
    assert.equal((await server.receiver(kKb, 'rejects')).rejected, 2);
  }
});
