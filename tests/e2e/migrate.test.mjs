// `kb migrate`: a catalog moves to PostgreSQL while two nodes land batches and make receivers, and
// whatever ends on the way, the next call completes it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshFolder, kKillPointExit, run, start, until } from './harness.mjs';
import { kMigrateMoved, kMigrateMoving, kMigrateOnFile } from './kill_points.mjs';
import { Postgres, Redis, servicesMissing as skip } from './services.mjs';

const kKb = 'demo';
const kReceivers = `/knowledgebase/${kKb}/strata/receivers`;
const kPauseMilliseconds = 100;

let postgres;
before(async () => {
  if (!skip) postgres = await Postgres.start();
});

let databases = 0;
// A job whose node died is another's to begin after so long.
const kLease = { STRATA_JOB_LEASE_S: '1' };
function node(name, { data, url = postgres.database(`moves${databases += 1}`), env } = {}) {
  return start({ data, env: { ...kLease, ...env }, args: ['--node', name, '--postgres', url] })
      .then((server) => Object.assign(server, { postgresUrl: url }));
}

const migrate = (server) => run(
    ['kb', 'migrate', kKb, '--backend', 'postgres', '--url', server.url]);
const postMigrate = (server, body = { backend: 'postgres' }, kb = kKb) =>
    server.control(`/knowledgebase/${kb}/migrate`, body);
/// The job that moves the catalog, as it ended.
const migrated = async (server) => server.jobEnd(kKb, await postMigrate(server));
/// Once the job of the node that died is known to be nobody's.
async function migrateAfterAll(server) {
  let ran;
  await until(async () => {
    ran = await migrate(server);
    return !/one job runs at a time/.test(ran.log);
  }, 'the lease of the dead node');
  return ran;
}
const backend = async (server) => (await server.get(`/knowledgebase/${kKb}`)).json.backend;
const receivers = async (server) => (await server.get(kReceivers)).json.receivers
    .map(({ stream }) => stream).sort();
const manifest = async (server) =>
    (await server.rows(kKb, 'SELECT source FROM _strata_manifest ORDER BY source'))
        .map(([source]) => source.replace('stream:', ''));
const moves = (server) => {
  const folder = join(server.kbFolder(kKb), 'backend');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
};

/// Lands batches and makes receivers through one node until it is told to stop. A node that was
/// killed answers nothing; whatever is answered is judged.
class Traffic {
  landed = [];
  made = [];
  migrating = 0;
  #stopped = false;

  constructor(server, name) {
    this.server = server;
    this.name = name;
    this.ended = Promise.all([this.#repeat((n) => this.#land(n)),
                              this.#repeat((n) => this.#make(n))]);
    this.ended.catch(() => {});  // stop() tells
  }
  async #repeat(work) {
    for (let n = 1; !this.#stopped; ++n) {
      await work(n);
      await sleep(kPauseMilliseconds);
    }
  }
  async #land(n) {
    const id = `${this.name}${n}`;
    const answer = await this.server.post(kKb, 's', `{"n":"${n}"}\n`, { id }).catch(() => null);
    if (answer === null) return;
    assert.equal(answer.status, 200, answer.text);
    this.landed.push(id);
  }
  async #make(n) {
    const stream = `${this.name}_${n}`;
    const answer = await this.server.control(kReceivers, { stream }).catch(() => null);
    if (answer === null) return;
    if (answer.status === 503) {
      assert.equal(answer.json.code, 'migrating', answer.text);
      this.migrating += 1;
      return;
    }
    assert.equal(answer.status, 201, answer.text);
    this.made.push(stream);
    const first = await this.server.post(kKb, stream, '{"a":"1"}\n', { id: 'b1' })
        .catch(() => null);
    if (first !== null) assert.equal(first.status, 200, first.text);
  }
  async stop() {
    this.#stopped = true;
    await this.ended;
  }
}

/// Every answer that a move promises, from `server`.
async function checkMoved(server, traffic) {
  assert.equal(await backend(server), 'postgres');
  const there = await receivers(server);
  const made = traffic.flatMap((one) => one.made);
  assert.deepEqual(made.filter((stream) => !there.includes(stream)), []);
  assert.deepEqual(await manifest(server), there);
  const ids = (await server.rows(kKb, 'SELECT _batch_id FROM raw_extracted.stream_s'))
      .map(([id]) => id);
  assert.equal(new Set(ids).size, ids.length);
  const landed = traffic.flatMap((one) => one.landed);
  assert.deepEqual(landed.filter((id) => !ids.includes(id)), []);
}

for (const point of [...kMigrateOnFile, ...kMigrateMoving, ...kMigrateMoved]) {
  test(`killed at ${point}, the other node completes it`, { skip }, async () => {
    const one = await node('one', { env: { STRATA_CRASH_AT: point } });
    await one.createKb(kKb, 'file');
    await one.createReceiver(kKb, 's');
    const two = await node('two', { data: one.data, url: one.postgresUrl });
    const traffic = [new Traffic(one, 'one'), new Traffic(two, 'two')];
    await until(() => traffic.every(({ landed, made }) => landed.length > 0 && made.length > 0),
                'traffic');

    assert.notEqual((await migrate(one)).code, 0);
    assert.equal((await one.exited()).code, kKillPointExit);
    assert.equal(await backend(two), kMigrateMoved.includes(point) ? 'postgres' : 'file');
    if (kMigrateMoving.includes(point)) {
      const refused = await two.control(kReceivers, { stream: 'refused' });
      assert.equal(refused.status, 503, refused.text);
      assert.equal(refused.json.code, 'migrating');
      assert.match(refused.json.detail, /run `strata kb migrate demo --backend postgres` again/);
      assert.ok(Number(refused.headers['retry-after']) > 0);
      for (const [method, path, body] of [
        ['PATCH', `${kReceivers}/s`, '{"max_body_bytes":2000}'],
        ['DELETE', `${kReceivers}/s`], ['DELETE', `/knowledgebase/${kKb}?confirm=${kKb}`]]) {
        const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
        const answer = await two.request(method, path, { headers, body });
        assert.equal(answer.json.code, 'migrating', `${method} ${path}: ${answer.text}`);
      }
    }
    const again = await migrateAfterAll(two);
    assert.deepEqual([again.code, again.out], [0, 'the catalog of demo is in postgres\n'],
                     again.log);
    const { jobs } = (await two.get(`/knowledgebase/${kKb}/strata/jobs`)).json;
    assert.deepEqual(jobs.map(({ kind, state, node: by }) => [kind, state, by]),
                     [['migrate', 'done', 'two'], ['migrate', 'failed', 'one']]);
    assert.match(jobs[1].reason, /ended.*start it again/);
    await one.restart();
    for (const busy of traffic) await busy.stop();
    for (const server of [one, two]) await checkMoved(server, traffic);
    const folder = one.kbFolder(kKb);
    assert.ok(existsSync(join(folder, 'catalog.sqlite.migrated')));
    assert.equal(postgres.sql('SELECT id, backend FROM strata.knowledgebases',
                              one.postgresUrl.split('/').at(-1)), 'demo|postgres');
    for (const server of [one, two]) await server.stop();
  });
}

test('PostgreSQL killed meanwhile: the kb is whole on its file, and a later run completes',
     { skip }, async () => {
  const one = await node('one');
  const two = await node('two', { data: one.data, url: one.postgresUrl });
  await one.createKb(kKb, 'file');
  await one.createReceiver(kKb, 's');
  await one.land(kKb, 's', [{ n: '1' }], 'b1');
  const database = one.postgresUrl.split('/').at(-1);
  const letGo = await postgres.hold('strata._strata_manifest', database);
  const moving = migrated(one);
  await until(() => postgres.someSession(database, "wait_event_type = 'Lock'"),
              'the copy to wait');
  await postgres.stop();
  try {
    const { state, reason } = await moving;
    assert.equal(state, 'failed');
    assert.match(reason, /is in its file as before/);
    for (const server of [one, two]) {
      assert.equal(await backend(server), 'file');
      await server.createReceiver(kKb, `by_${server === one ? 'one' : 'two'}`);
    }
    await one.land(kKb, 's', [{ n: '2' }], 'b2');
    assert.deepEqual(await manifest(two), ['by_one', 'by_two', 's']);

    // Nor does one that finds it away change anything.
    const before = moves(one);
    const away = await postMigrate(two);
    assert.equal(away.status, 503, away.text);
    assert.deepEqual(moves(one), before);
    assert.deepEqual(before, ['000001.json', '000002.json']);
  } finally {
    await letGo();
    await postgres.start();
  }
  await until(async () => (await one.get('/readyz')).json.reduced.length === 0, 'PostgreSQL');
  const again = await migrated(one);
  assert.deepEqual([again.state, again.result.backend], ['done', 'postgres'], again.reason);
  for (const server of [one, two]) {
    await until(async () => (await server.get('/readyz')).json.reduced.length === 0, 'PostgreSQL');
    assert.deepEqual(await manifest(server), ['by_one', 'by_two', 's']);
    await server.stop();
  }
});

test('with the lock in Redis: a killed one is waited for, views are made meanwhile', { skip },
     async () => {
  const redis = await Redis.start();
  const url = postgres.database('moves_with_redis');
  const nodeOn = (name, options) => start({
    args: ['--node', name, '--postgres', url, '--redis', redis.url], ...options });
  const ttl = { STRATA_REDIS_TTL_MS: '2000', ...kLease };
  const one = await nodeOn('one', { env: { STRATA_CRASH_AT: 'migrate:after_copy', ...ttl } });
  const two = await nodeOn('two', { data: one.data, env: ttl });
  await one.createKb(kKb, 'file');
  await one.createReceiver(kKb, 's');
  assert.notEqual((await migrate(one)).code, 0);
  assert.equal((await one.exited()).code, kKillPointExit);
  assert.match(redis.command('KEYS', '*'), /^strata:\S+:kb:\S+:backend:lock$/);
  await two.land(kKb, 's', [{ a: '1' }], 'b1');
  assert.equal((await two.receiver(kKb, 's')).view.state, 'ready');
  assert.equal((await migrateAfterAll(two)).code, 0);
  assert.deepEqual(await manifest(two), ['s']);
  assert.equal(redis.command('DBSIZE'), '0');
  await two.stop();
});

test('a backup of one that moved is restored beside an empty database', { skip }, async () => {
  const server = await node('a');
  await server.createKb(kKb, 'file');
  await server.createReceiver(kKb, 's');
  await server.land(kKb, 's', [{ a: '1' }], 'b1');
  assert.equal((await migrate(server)).code, 0);
  const target = join(freshFolder(), 'backup');
  const backup = await run(['backup', kKb, target, '--data', server.data]);
  assert.equal(backup.code, 0, backup.log);
  const other = await node('b');
  await other.stop();
  cpSync(target, other.kbFolder(kKb), { recursive: true });
  await other.restart();
  assert.equal(await backend(other), 'postgres');
  assert.ok(!existsSync(join(other.kbFolder(kKb), 'catalog.sqlite')));
  assert.deepEqual(await manifest(other), ['s']);
  assert.deepEqual(await other.rows(kKb, 'SELECT a FROM raw_extracted.stream_s'), [['1']]);
  for (const one of [server, other]) await one.stop();
});

test('what cannot be moved is refused with the reason, and nothing changes', { skip }, async () => {
  const server = await start();
  await server.createKb(kKb, 'file');
  for (const [body, kb, status, detail] of [
    [{ backend: 'postgres' }, kKb, 400, /needs a server that was started with --postgres/],
    [{ backend: 'file' }, kKb, 400, /to 'postgres' only/],
    [{ backend: 7 }, kKb, 400, /\{"backend":"postgres"\}/],
    [{}, kKb, 400, /\{"backend":"postgres"\}/],
    [{ backend: 'postgres' }, 'other', 404, /no knowledgebase 'other'/]]) {
    const answer = await postMigrate(server, body, kb);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.json.detail, detail);
  }
  assert.deepEqual(moves(server), []);
  await server.createReceiver(kKb, 's');
  await server.stop();
});
