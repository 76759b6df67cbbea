// Nodes that share a root with Redis and PostgreSQL: what they agree on, and that neither service
// is needed for a batch to land or a row to be read.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { stopDdlWorker } from './ddl_worker.mjs';
import {
  acquisitions, freshFolder, run, start, startAndEnd, startWith, until,
} from './harness.mjs';
import { kPassword, Postgres, Redis, servicesMissing as skip } from './services.mjs';

let postgres;
let redis;
before(async () => {
  if (skip) return;
  [postgres, redis] = [await Postgres.start(), await Redis.start()];
});

let databases = 0;
/// A node on a root of its own, or on that of another.
function node(name, { data, url = postgres.database(`nodes${databases += 1}`), env } = {}) {
  const args = ['--node', name, '--postgres', url, '--redis', redis.url];
  return start({ data, args, env }).then((server) => Object.assign(server, { postgresUrl: url }));
}

const identity = (server) => JSON.parse(readFileSync(join(server.data, 'strata.json'), 'utf8'));
const createKb = (server, id) => server.createKb(id, 'postgres');
const ready = async (server) => (await server.get('/readyz')).json;
const generation = async (server) => (await server.metrics())['strata_generation{kb="demo"}'];

test('a knowledgebase in PostgreSQL: its rows are there, and in no file', { skip }, async () => {
  const server = await node('a');
  const { lock, catalog } = identity(server);
  assert.deepEqual({ lock, catalog }, { lock: 'redis', catalog: 'postgres' });
  await createKb(server, 'demo');
  await server.createReceiver('demo', 's');
  await server.land('demo', 's', [{ a: '1' }, { a: '2' }], 'b1');
  assert.deepEqual(await server.rows('demo', 'SELECT a FROM raw_extracted.stream_s ORDER BY a'),
                   [['1'], ['2']]);
  const database = server.postgresUrl.split('/').at(-1);
  const manifest = () => postgres.sql(
      'SELECT "table", source FROM strata._strata_manifest', database);
  assert.equal(manifest(), 'raw_extracted.stream_s|stream:s');
  assert.deepEqual(
      await server.rows('demo', 'SELECT "table", source, rows, state FROM _strata_manifest'),
      [['raw_extracted.stream_s', 'stream:s', 2, 'ready']]);
  assert.equal(postgres.sql('SELECT id, backend FROM strata.knowledgebases', database),
               'demo|postgres');
  const files = (await run(['kb', 'show', 'demo', '--url', server.url])).out;
  assert.match(files, /postgres/);
  assert.deepEqual((await ready(server)).reduced, []);

  // The catalog is an index: emptied, it is made again from the folders.
  await server.stop();
  postgres.sql('TRUNCATE strata._strata_manifest, strata.receivers, strata.knowledgebases',
               database);
  await server.restart();
  assert.deepEqual(await server.rows('demo', 'SELECT count(*) FROM raw_extracted.stream_s'), [[2]]);
  assert.equal(manifest(), 'raw_extracted.stream_s|stream:s');
  assert.deepEqual(await server.rows('demo', 'SELECT "table", rows, state FROM _strata_manifest'),
                   [['raw_extracted.stream_s', 2, 'ready']]);
});

test('a backup of one is restored beside another catalog', { skip }, async () => {
  const server = await node('a');
  await createKb(server, 'demo');
  await server.createReceiver('demo', 's');
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  const target = join(freshFolder(), 'backup');
  const backup = await run(['backup', 'demo', target, '--data', server.data]);
  assert.equal(backup.code, 0, backup.log);
  const other = await node('b');
  await other.stop();
  cpSync(target, other.kbFolder('restored'), { recursive: true });
  await other.restart();
  assert.deepEqual(await other.rows('restored', 'SELECT a FROM raw_extracted.stream_s'), [['1']]);
  const again = await other.post('restored', 's', '{"a":"1"}\n', { id: 'b1' });
  assert.equal(again.json.replayed, true, again.text);
  assert.deepEqual(await other.rows('restored', 'SELECT "table", state FROM _strata_manifest'),
                   [['raw_extracted.stream_s', 'ready']]);
});

test('every node of a root is listed, with when it was seen', { skip }, async () => {
  const one = await node('one');
  const two = await node('two', { data: one.data, url: one.postgresUrl });
  const listed = async (server) => (await server.get('/nodes')).json.nodes
      .map(({ node: name, process, version, alive, this: self }) =>
          ({ name, version, alive, self, own: process.startsWith(`${name}-`) }));
  const { version } = (await one.get('/nodes')).json.nodes[0];
  assert.match(version, /^\d+\.\d+/);
  const both = (own) => ['one', 'two'].map(
      (name) => ({ name, version, alive: true, self: name === own, own: true }));
  assert.deepEqual(await listed(one), both('one'));
  assert.deepEqual(await listed(two), both('two'));
  const database = one.postgresUrl.split('/').at(-1);
  postgres.sql(`UPDATE strata.nodes SET heartbeat = heartbeat - 45000000 WHERE node = 'two'`,
               database);
  assert.deepEqual((await listed(one)).map(({ alive }) => alive), [true, false]);
  postgres.sql(`UPDATE strata.nodes SET heartbeat = heartbeat - 3600000000 WHERE node = 'two'`,
               database);
  assert.deepEqual((await listed(one)).map(({ name }) => name), ['one']);
});

test('a clock that is off is told, and deletes nothing', { skip }, async () => {
  const url = postgres.database('shifted');
  // A database whose clock is an hour behind the machine's.
  postgres.sql(`CREATE SCHEMA shifted;
      CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql
        AS $$ SELECT pg_catalog.clock_timestamp() - interval '1 hour' $$;
      ALTER DATABASE shifted SET search_path = shifted, pg_catalog`, 'shifted');
  const server = await node('a', { url });
  await createKb(server, 'demo');
  const old = join(server.kbFolder('demo'), 'staging/old');
  writeFileSync(old, '');
  utimesSync(old, 0, 0);
  await server.restart();
  await server.createReceiver('demo', 's');
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  assert.deepEqual(await server.rows('demo', 'SELECT a FROM raw_extracted.stream_s'), [['1']]);
  const state = await ready(server);
  assert.equal(state.ready, true);
  assert.deepEqual(state.reduced, [
    "This machine's clock is 60 minutes ahead of PostgreSQL's: no old file is deleted here until " +
    'it is set right, as a time service does.']);
  assert.ok(existsSync(old));
  postgres.sql('ALTER DATABASE shifted RESET search_path', 'shifted');
  await server.restart();
  assert.deepEqual((await ready(server)).reduced, []);
  assert.ok(!existsSync(old));
});

test('two nodes, twenty first landings at once: one lock, one generation', { skip }, async () => {
  const one = await node('one');
  const two = await node('two', { data: one.data, url: one.postgresUrl });
  await createKb(one, 'demo');
  await one.createReceiver('demo', 'fresh');
  const before = await generation(one);
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).post(
      'demo', 'fresh', `{"n":"${n}"}\n`, { id: `b${n}` })));
  assert.deepEqual(answers.map(({ status }) => status), Array(20).fill(200));
  for (const server of [one, two]) {
    const count = async () => (await server.query(
        'demo', 'SELECT count(*) FROM raw_extracted.stream_fresh')).json.rows?.[0][0];
    await until(async () => await count() === 20, 'the view');
  }
  assert.equal(await generation(one), before + 1);
  const taken = acquisitions(await one.metrics(), 'fresh') +
      acquisitions(await two.metrics(), 'fresh');
  // Two, if one looked just before the other's view was there, and tried just after.
  assert.ok(taken === 1 || taken === 2, `${taken}`);
  assert.equal(redis.command('DBSIZE'), '0', 'every lock was let go');
});

test('both away: batches land and rows are read, also by a node started meanwhile', { skip },
     async () => {
  const server = await node('a');
  await createKb(server, 'demo');
  await server.createReceiver('demo', 's');
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  assert.deepEqual(await server.rows('demo', 'SELECT a FROM raw_extracted.stream_s'), [['1']]);

  await postgres.stop();
  await redis.stop();
  try {
    for (const restarted of [false, true]) {
      if (restarted) await server.restart();
      const id = restarted ? 'after' : 'before';
      // A column that is new, too.
      await server.land('demo', 's', [{ a: id, [`of_${id}`]: '1' }], id);
      const answer = await server.query('demo', `SELECT of_${id} FROM raw_extracted.stream_s ` +
                                                `WHERE _batch_id = '${id}'`);
      assert.deepEqual([answer.status, answer.json.rows], [200, [['1']]], answer.text);
      const { ready: isReady, reduced } = await ready(server);
      assert.equal(isReady, true);
      assert.equal(reduced.length, 2);
      assert.match(reduced[0], /postgres.*: .*PostgreSQL/s);
      assert.match(reduced[1], /view of a new stream waits: .*Redis/);
      assert.ok(!reduced.join().includes(kPassword), 'no password');
    }
    const refused = await server.control('/knowledgebase', { id: 'other', backend: 'postgres' });
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json.detail, /PostgreSQL/);
  } finally {
    await postgres.start();
    await redis.start();
  }
  await until(async () => (await ready(server)).reduced.length === 0, 'both to be there again');
  await createKb(server, 'other');
});

test('PostgreSQL is slow: batches of streams that a node meets first do not wait', { skip },
     async () => {
  const one = await node('one');
  const two = await node('two', { data: one.data, url: one.postgresUrl });
  await createKb(one, 'demo');
  await one.createKb('files', 'file');
  for (const kb of ['demo', 'files']) await two.createReceiver(kb, 'met');
  const database = one.postgresUrl.split('/').at(-1);
  const letGo = await postgres.hold('strata.receivers', database);
  const told = [];
  try {
    const making = one.control('/knowledgebase/demo/strata/receivers', { stream: 'made' })
        .then(({ status }) => told.push(`made ${status}`));
    await until(() => postgres.someSession(database, "wait_event_type = 'Lock'"),
                'the receiver to wait');
    for (const kb of ['demo', 'files']) {
      await one.land(kb, 'met', [{ a: '1' }], 'b');
      told.push(`landed in ${kb}`);
      assert.deepEqual(await one.rows(kb, 'SELECT a FROM raw_extracted.stream_met'), [['1']]);
    }
    await making;
  } finally {
    await letGo();
  }
  assert.deepEqual(told, ['landed in demo', 'landed in files', 'made 503']);
  const manifest = () => postgres.sql(
      'SELECT source, state FROM strata._strata_manifest ORDER BY source', database);
  // The one that was made is there, too: its row is only later than the answer.
  await until(() => manifest() === 'stream:made|deferred\nstream:met|ready',
              'the rows that were late');
});

test('Redis away: a new stream lands, and has its view when Redis is back', { skip }, async () => {
  const server = await node('a');
  await createKb(server, 'demo');
  await server.createReceiver('demo', 'late');
  await redis.stop();
  try {
    await server.land('demo', 'late', [{ a: '1' }], 'b1');
    const { state, reason } = (await server.receiver('demo', 'late')).view;
    assert.equal(state, 'error');
    assert.match(reason, /Redis/);
  } finally {
    await redis.start();
  }
  const answer = () => server.query('demo', 'SELECT a FROM raw_extracted.stream_late');
  await until(async () => (await answer()).status === 200, 'the view');
  assert.deepEqual((await answer()).json.rows, [['1']]);
});

test('a writer paused past its lock: the next one holds it, and keeps it', { skip }, async () => {
  const ttl = 1000;
  const start_ = (name, rest) => node(name, { ...rest, env: { STRATA_REDIS_TTL_MS: `${ttl}` } });
  const one = await start_('one');
  const two = await start_('two', { data: one.data, url: one.postgresUrl });
  await createKb(one, 'demo');
  const key = () => redis.command('--scan', '--pattern', 'strata:*:lock');
  /// A new stream whose view `server` is making: its worker is stopped, with the lock held.
  const begin = async (server, name) => {
    for (let n = 0; n < 50; ++n) {
      const stream = `${name}${n}`;
      await server.createReceiver('demo', stream);
      const landing = server.land('demo', stream, [{ a: name }], 'b');
      const worker = await stopDdlWorker(server, landing);
      if (worker !== undefined) return { stream, worker, landing };
    }
    return assert.fail('no worker was caught');
  };
  const first = await begin(one, 'one');
  process.kill(one.pid, 'SIGSTOP');
  await until(() => key() === '', 'the lock to run out');
  const second = await begin(two, 'two');
  const before = await generation(two);  // with those of streams whose worker was not caught
  const owner = redis.command('GET', key());

  process.kill(one.pid, 'SIGCONT');
  process.kill(first.worker, 'SIGCONT');
  await first.landing;
  const isReady = async ({ stream }) =>
      (await two.query('demo', `SELECT a FROM raw_extracted.stream_${stream}`)).status === 200;
  await until(() => isReady(first), 'the view of the first');
  await until(() => /lock of knowledgebase demo ran out while this process held it/.test(one.log),
              'the log');
  assert.equal(redis.command('GET', key()), owner, 'the second one holds it still');
  assert.ok(!await isReady(second));
  process.kill(second.worker, 'SIGCONT');
  await second.landing;
  await until(() => isReady(second), 'the view of the second');
  assert.deepEqual(
      [await isReady(first), await generation(one), await generation(two)],
      [true, before + 2, before + 2]);
  assert.doesNotMatch(two.log, /ran out/);
  assert.equal(key(), '');
});

test('a root is of one kind: others are told how to change it', { skip }, async () => {
  const data = freshFolder();
  const server = await startWith('demo', ['s'], { data });
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  const set = (...args) => run(['root', 'set', ...args, '--data', data]);
  const running = await set('--lock', 'redis');
  assert.equal(running.code, 2);
  assert.match(running.log, /Process local-[0-9a-f]+-\d+ runs on this root: stop every node first/);
  await server.stop();

  const refused = await startAndEnd({ data, env: { STRATA_REDIS: redis.url } });
  assert.match(refused.log,
               /lock is 'file', and this node was started with --redis.*set --lock redis/);
  const moved = await set('--lock', 'redis');
  assert.deepEqual([moved.code, moved.out],
                   [0, "The root's lock is 'redis': start every node with --redis.\n"], moved.log);
  assert.match((await startAndEnd({ data })).log,
               /lock is 'redis', and this node.*without --redis/);

  const url = postgres.database('moved');
  const nowhere = await set('--catalog', 'postgres');
  assert.match(nowhere.log, /--postgres URL/);
  assert.equal((await set('--catalog', 'postgres', '--postgres', url)).code, 0);
  assert.equal(postgres.sql('SELECT id, backend FROM strata.knowledgebases', 'moved'), 'demo|file');
  const again = await start({ data, args: ['--redis', redis.url, '--postgres', url] });
  assert.deepEqual(await again.rows('demo', 'SELECT a FROM raw_extracted.stream_s'), [['1']]);
  assert.deepEqual(identity(again).lock, 'redis');
  await again.stop();
  const back = await set('--catalog', 'sqlite', '--lock', 'file', '--postgres', url);
  assert.equal(back.code, 0, back.log);
  await (await start({ data })).stop();
});

test('what is no URL is refused before anything is made', async () => {
  for (const [option, url, reason] of [
    ['--redis', 'http://x', /redis:\/\//], ['--postgres', 'mysql://x', /postgresql:\/\//]]) {
    const { code, log } = await run(['serve', '--data', freshFolder(), option, url]);
    assert.equal(code, 2, log);
    assert.match(log, reason);
  }
});
