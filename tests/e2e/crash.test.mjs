// The real program dies at every kill point there is. Started again without it: what was
// acknowledged is there once, what was claimed is there before anybody retries, the numbers are
// those of a fresh count.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, readlinkSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import {
  kKillPointExit, repository, start, startAndEnd, startWith, until,
} from './harness.mjs';
import { countStream, readParquet, verifyRoot } from './independent.mjs';
import {
  kAll, kAnchor, kBeforeClaim, kCheckpoint, kCollect, kFinisher, kFromClaim, kRace,
  kReceiverBeforeClaim, kReceiverFromClaim, kRecovery, kRegistry, kReplay, kView, kViewBeforeClaim,
  kViewFinish,
} from './kill_points.mjs';
import { newestNumbered } from './numbered.mjs';

const kKb = 'demo';
const kStream = 'landing';

const history = new History();
let server;
before(async () => { server = await startWith(kKb, [kStream]); });

/// Each batch brings a column of its own, so that it passes the registry's points too.
const rowsOf = (id) => [1, 2, 3].map((n) => ({ n: `${n}`, id, [`of_${id}`]: `${n * n}` }));
const batch = (id) => ({ kb: kKb, stream: kStream, id, rows: rowsOf(id) });
const idAt = (point) => point.replace(/\W/g, '-');

async function crashed() {
  const { code, log } = await server.exited();
  assert.equal(code, kKillPointExit, log);
}

/// A first landing answers after two seconds without the view: a sanitizer's view job, which runs
/// on, may die later than that.
function expectNoAnswer(answer) {
  if (process.env.STRATA_SANITIZED !== '1') assert.equal(answer, undefined);
}

async function expectDeathAtStart(point) {
  const { data } = server;
  const { code, log } = await startAndEnd({ data, env: { STRATA_CRASH_AT: point } });
  assert.equal(code, kKillPointExit, log);
}

async function expectNumbers(stream = kStream) {
  const { files, rows, bytes } = await server.receiver(kKb, stream);
  assert.deepEqual({ files, rows, bytes },
                   await countStream(server.streamFolder(kKb, stream)));
}

const newestOf = (stream, what) => newestNumbered(join(server.streamFolder(kKb, stream), what));

/// The anchor shows every column of the registry, in its order.
async function expectAnchor(stream = kStream) {
  const registry = newestOf(stream, 'columns');
  const anchor = join(server.streamFolder(kKb, stream), 'data/.schema.parquet');
  const { columns } = await readParquet(anchor);
  assert.deepEqual(columns, [...registry.columns, '_batch_id']);
}

/// What the view shows now, once it is known to agree with what clients were told.
async function expectNothingWrong() {
  const seen = await readView(server, kKb, kStream);
  assert.deepEqual(check(history, seen), kNothingWrong);
  await expectNumbers();
  await expectAnchor();
  return seen;
}

/// Nothing of a process that ended is left among what is in the making.
function expectOwnStagingOnly(stream = kStream) {
  const staging = readdirSync(join(server.streamFolder(kKb, stream), '_tmp'));
  assert.equal(staging.length, 1, `no staging folder but the present process's: ${staging}`);
}

/// Started again after a crash in which `id` got no answer.
async function settle(id, { claimed }) {
  await server.restart();
  const seen = await expectNothingWrong();
  assert.equal(seen.has(id), claimed, 'whether the batch is there before any retry');
  expectOwnStagingOnly();

  const retried = await sendLogged(history, server, batch(id));
  assert.equal(retried.status, 200, retried.text);
  assert.equal(retried.json.replayed, claimed);
  assert.equal((await expectNothingWrong()).get(id).length, 3);
}

for (const point of [...kBeforeClaim, ...kFromClaim, ...kRegistry]) {
  test(`a landing dies at ${point}`, async () => {
    const id = idAt(point);
    await server.restart({ STRATA_CRASH_AT: `${point}#3` });
    for (const acknowledged of [`${id}-1`, `${id}-2`]) {
      const answer = await sendLogged(history, server, batch(acknowledged));
      assert.equal(answer?.status, 200, answer?.text);
    }
    assert.equal(await sendLogged(history, server, batch(id)), undefined);
    await crashed();
    await settle(id, { claimed: kFromClaim.includes(point) });
  });
}

for (const point of kReplay) {
  test(`a replay dies at ${point}`, async () => {
    const id = idAt(point);
    await server.restart({ STRATA_CRASH_AT: point });
    assert.equal((await sendLogged(history, server, batch(id)))?.status, 200);
    assert.equal(await sendLogged(history, server, batch(id)), undefined);
    await crashed();
    await settle(id, { claimed: true });
  });
}

test('one of several landings of one id dies at publish_loser:after_claim', async () => {
  await server.restart({ STRATA_CRASH_AT: kRace[0] });
  const race = (id) => Promise.all(
      Array.from({ length: 8 }, () => sendLogged(history, server, batch(id))));
  let id;
  for (let round = 0; round < 100; ++round) {
    id = `race-${round}`;
    const answers = await race(id);
    if (answers.includes(undefined)) break;
    assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(200));
    assert.equal(answers.filter(({ json }) => !json.replayed).length, 1);
  }
  await crashed();
  await settle(id, { claimed: true });
});

/// What has its name already is not made again: the next start-up passes by.
const kOnce = [...kFinisher.slice(1), 'anchor:after_rename'];

for (const [deathBefore, points] of [['publish:after_claim', kRecovery],
                                     ['registry:after_publish', kAnchor]]) {
  for (const point of points) {
    test(`a start-up dies at ${point}`, async () => {
      const id = `start-${idAt(point)}`;
      await server.restart({ STRATA_CRASH_AT: deathBefore });
      assert.equal(await sendLogged(history, server, batch(id)), undefined);
      await crashed();
      for (let times = kOnce.includes(point) ? 1 : 2; times > 0; --times) {
        await expectDeathAtStart(point);
      }
      await settle(id, { claimed: kFromClaim.includes(deathBefore) });
    });
  }
}

for (const point of kCheckpoint) {
  test(`the numbers' checkpoint dies at ${point}`, async () => {
    const id = `checkpoint-${idAt(point)}`;
    await server.restart({ STRATA_CRASH_AT: point });
    // Acknowledged or not: the checkpoint comes once a second, whoever is landing.
    const rows = [{ n: '1', id }];
    let n = 0;
    const died = async () =>
        await sendLogged(history, server, { ...batch(`${id}-${n++}`), rows }) === undefined;
    await until(died, 'the death at a checkpoint');
    await crashed();
    await server.restart();
    expectOwnStagingOnly();
    await expectNothingWrong();
  });

  test(`a clean stop dies at ${point}`, async () => {
    const id = `stop-${idAt(point)}`;
    // Once for the batch, and at the stop because it closes the checkpoint.
    await server.restart({ STRATA_CRASH_AT: `${point}#2` });
    assert.equal((await sendLogged(history, server, batch(id)))?.status, 200);
    const checkpoints = () => readdirSync(join(server.streamFolder(kKb, kStream), 'numbers'));
    await until(() => checkpoints().some((name) => name.endsWith(`-${server.pid}.json`)),
                'the checkpoint of the batch');
    server.child.kill('SIGTERM');
    await crashed();
    await server.restart();
    expectOwnStagingOnly();
    assert.ok((await expectNothingWrong()).has(id));
  });
}

// --- Receivers ----------------------------------------------------------------------------------

const kReceiverSettings = { columns: ['b', 'a'], max_body_bytes: 4096 };

for (const point of [...kReceiverBeforeClaim, ...kReceiverFromClaim]) {
  test(`the making of a receiver dies at ${point}`, async () => {
    const stream = idAt(point).replaceAll('-', '_');
    const make = () => server.control(`/knowledgebase/${kKb}/strata/receivers`,
                                      { stream, ...kReceiverSettings });
    await server.restart({ STRATA_CRASH_AT: point });
    await assert.rejects(make());
    await crashed();

    await server.restart();
    const there = kReceiverFromClaim.includes(point);
    assert.equal(newestOf(stream, 'receiver') !== undefined, there);
    const look = await server.get(`/knowledgebase/${kKb}/strata/receivers/${stream}`);
    assert.equal(look.status, there ? 200 : 404, look.text);
    const made = await make();
    assert.equal(made.status, there ? 200 : 201, made.text);
    const { columns, max_body_bytes } = await server.receiver(kKb, stream);
    assert.deepEqual({ columns, max_body_bytes }, kReceiverSettings);
    assert.deepEqual(newestOf(stream, 'columns').columns, kReceiverSettings.columns);
    await expectAnchor(stream);
    expectOwnStagingOnly(stream);
    await server.land(kKb, stream, [{ a: '1' }], 'one');
    assert.deepEqual(await server.rows(kKb, `SELECT a, b FROM raw_extracted.stream_${stream}`),
                     [['1', null]]);
    await expectNumbers(stream);
  });
}

// --- The view's job -----------------------------------------------------------------------------

function generations() {
  const folder = join(server.kbFolder(kKb), 'generations');
  const files = readdirSync(folder).sort().map((name) => {
    const { size, mode } = statSync(join(folder, name));
    return { name, size, mode: mode & 0o777 };
  });
  return { folder, files, newest: files.filter(({ size }) => size > 0).at(-1)?.name };
}

function expectWholeGenerations() {
  const { files, newest } = generations();
  for (const { name, mode } of files) {
    assert.match(name, /^\d{6}\.duckdb$/, 'nothing but generations, and no .wal');
    assert.equal(mode, 0o444, name);
  }
  assert.equal(readlinkSync(join(server.kbFolder(kKb), 'knowledgebase.duckdb')),
               `generations/${newest}`);
  return newest;
}

/// Started again after the view's job of a new stream died: its first batch has landed.
async function settleView(stream) {
  await server.restart();
  const counted = () => server.rows(kKb, `SELECT count(*) FROM raw_extracted.stream_${stream}`);
  assert.deepEqual(await counted(), [[3]]);
  await until(async () => (await server.receiver(kKb, stream)).view.state === 'ready', stream);
  expectWholeGenerations();
  await expectNumbers(stream);
  assert.equal((await server.land(kKb, stream, rowsOf('first'), 'first')).replayed, true);
  assert.deepEqual(await counted(), [[3]]);
  await expectNothingWrong();
}

for (const point of kView) {
  test(`the view's job dies at ${point}`, async () => {
    const stream = idAt(point).replaceAll('-', '_');
    await server.createReceiver(kKb, stream);
    const passedAtStart = kViewFinish.includes(point);
    await server.restart({ STRATA_CRASH_AT: passedAtStart ? `${point}#2` : point });
    const previous = generations().newest;
    const lost = { kb: kKb, stream, id: 'first', rows: rowsOf('first') };
    expectNoAnswer(await sendLogged(new History(), server, lost));
    await crashed();
    const published = !kViewBeforeClaim.includes(point);
    assert.equal(generations().newest > previous, published);
    await settleView(stream);
  });
}

for (const point of kViewFinish) {
  test(`the opening of a kb dies at ${point}`, async () => {
    await server.stop();
    await expectDeathAtStart(point);
    await server.restart();
    expectWholeGenerations();
    await expectNothingWrong();
  });
}

test('the collection of old generations dies at generation:after_tombstone', async () => {
  const { folder, files } = generations();
  assert.ok(files.length > 4, 'the tests above have left several');
  const old = Date.now() / 1000 - 2 * 3600;
  for (const { name } of files) utimesSync(join(folder, name), old, old);
  await server.createReceiver(kKb, 'collected');
  await server.restart({ STRATA_CRASH_AT: kCollect[0] });
  const lost = { kb: kKb, stream: 'collected', id: 'first', rows: rowsOf('first') };
  expectNoAnswer(await sendLogged(new History(), server, lost));
  await crashed();
  const tombstones = generations().files.filter(({ size }) => size === 0);
  assert.equal(tombstones.length, 1);
  const before = generations().files.length;
  await settleView('collected');

  // The next publish collects the rest, and its number is a new one.
  await server.createReceiver(kKb, 'after_collection');
  await server.land(kKb, 'after_collection', rowsOf('first'), 'first');
  const now = generations().files;
  assert.equal(now.length, before + 1);
  assert.equal(now.filter(({ size }) => size > 0).length, 3);
  expectWholeGenerations();
});

for (const point of kView.filter((name) => name !== 'generation:after_copy')) {
  test(`the making of a kb dies at ${point}`, async () => {
    const fresh = await start({ env: { STRATA_CRASH_AT: point } });
    await assert.rejects(fresh.control('/knowledgebase', { id: 'made' }));
    assert.equal((await fresh.exited()).code, kKillPointExit);
    await fresh.restart();
    await fresh.createKb('made');
    await fresh.createReceiver('made', 'weather');
    await fresh.land('made', 'weather', [{ a: '1' }], 'one');
    assert.deepEqual(await fresh.rows('made', 'SELECT a FROM raw_extracted.stream_weather'),
                     [['1']]);
    await fresh.stop();
  });
}

test('SIGKILL under load, three times: what was acknowledged is there once', async () => {
  for (const round of [1, 2, 3]) {
    const unanswered = [];
    const client = async (name) => {
      for (let n = 0; ; ++n) {
        const id = `load-${round}-${name}-${n}`;
        const sent = { ...batch(id), rows: [1, 2, 3].map((row) => ({ n: `${row}`, id })) };
        if (await sendLogged(history, server, sent) === undefined) {
          unanswered.push(sent);
          return;
        }
      }
    };
    const enough = history.outcomes('ok').length + 40;
    const clients = Array.from({ length: 8 }, (_, name) => client(name));
    await until(() => history.outcomes('ok').length >= enough, '40 batches');
    await server.kill();
    await Promise.all(clients);

    await server.restart();
    const seen = await expectNothingWrong();
    for (const sent of unanswered) {
      const answer = await sendLogged(history, server, sent);
      assert.deepEqual([answer.status, answer.json.replayed], [200, seen.has(sent.id)]);
    }
    assert.equal(unanswered.length, 8);
    await expectNothingWrong();
  }
});

test('after all of it every batch is whole and says so itself', async () => {
  const { batches, problems } = await verifyRoot(server.data);
  assert.deepEqual(problems, []);
  assert.ok(batches >= 30, `${batches} batches`);
});

/// Every name in a source that uses kill points.
function pointsInSource(folder = join(repository, 'src')) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pointsInSource(path);
    if (!/\.(cpp|h)$/.test(entry.name) || /_test\.cpp$/.test(entry.name)) return [];
    const text = readFileSync(path, 'utf8');
    if (!text.includes('kill_point')) return [];
    return [...text.matchAll(/"([a-z_]+:[a-z_]+)"/g)].map((match) => match[1]);
  });
}

test('no kill point is without a test, and no test without its point', () => {
  assert.deepEqual([...new Set(pointsInSource())].sort(), [...kAll].sort());
});
