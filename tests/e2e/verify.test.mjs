// `strata verify`: a damaged file makes queries of its stream fail, and says what to do; verify
// names it; quarantine by the running server makes the stream answer again, and the batch can be
// sent again.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync,
         watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from './checker.mjs';
import { freshFolder, kKillPointExit, ndjson, run, start, startWith, until } from './harness.mjs';
import { countStream } from './independent.mjs';
import { kQuarantine } from './kill_points.mjs';

const kStream = 'SELECT * FROM raw_extracted.stream_weather ORDER BY n';
const rowsOf = (id) => [1, 2, 3].map((n) => ({ n: `${id}-${n}`, text: 'x'.repeat(40 * n) }));

const dataOf = (server, id) => join(server.streamFolder('demo', 'weather'), 'data',
                                    `${id}.parquet`);
const verify = (server, ...args) => run(['verify', 'demo', ...args, '--url', server.url]);

function flip(file, at) {
  const bytes = readFileSync(file);
  bytes[at < 0 ? bytes.length + at : at] ^= 1;
  writeFileSync(file, bytes);
}

async function landThree() {
  const server = await startWith('demo', ['weather', 'quiet']);
  for (const id of ['a', 'b', 'c']) await server.land('demo', 'weather', rowsOf(id), id);
  return server;
}

test('a damaged footer: the query says so, quarantine mends it, the batch lands', async () => {
  const server = await landThree();
  const clean = await verify(server);
  assert.equal(clean.code, 0, clean.log);
  assert.equal(clean.out, 'quiet: 0 batches and 0 rows looked at, no problem\n'
                          + 'weather: 3 batches and 9 rows looked at, no problem\n');

  flip(dataOf(server, 'b'), -6);  // the footer's length
  const failed = await server.query('demo', kStream);
  assert.equal(failed.status, 503, failed.text);
  assert.equal(failed.json.code, 'io_error');
  assert.match(failed.json.detail, /strata verify demo/);
  assert.ok(!failed.text.includes(server.data), 'no server path');

  const found = await verify(server, 'weather', '--json');
  assert.equal(found.code, 1);
  const { problems } = JSON.parse(found.out);
  assert.deepEqual(problems.map(({ path, kind }) => ({ path, kind })),
                   [{ path: 'data/b.parquet', kind: 'damaged' }]);
  assert.ok(existsSync(dataOf(server, 'b')), 'without --quarantine nothing is moved');
  const told = await verify(server, 'weather');
  assert.equal(told.code, 1);
  assert.match(told.out, /^weather\/data\/b\.parquet: damaged: .*\n/);
  assert.match(told.log, /strata verify demo weather --quarantine/);

  const moved = await verify(server, 'weather', '--quarantine');
  assert.equal(moved.code, 1, moved.log);
  assert.match(moved.out, /moved to quarantine\/b\.parquet, its claim to quarantine\/b\.claim/);
  assert.match(moved.out, /send the batch again under the same id/);
  const rows = async () => (await server.rows('demo', kStream)).map(([n]) => n);
  assert.deepEqual(await rows(), ['a-1', 'a-2', 'a-3', 'c-1', 'c-2', 'c-3']);
  const { files, rows: counted } = await server.receiver('demo', 'weather');
  assert.deepEqual({ files, counted }, { files: 2, counted: 6 });

  const again = await server.land('demo', 'weather', rowsOf('b'), 'b');
  assert.equal(again.replayed, false);
  assert.equal((await server.land('demo', 'weather', rowsOf('a'), 'a')).replayed, true);
  assert.equal((await rows()).length, 9);
  assert.equal((await verify(server)).code, 0);
  await server.restart();
  assert.equal((await rows()).length, 9);
  assert.equal((await server.receiver('demo', 'weather')).rows, 9);
  assert.deepEqual(readdirSync(join(server.streamFolder('demo', 'weather'), 'quarantine')).sort(),
                   ['b.claim', 'b.parquet']);
});

/// So many positions of one file, spread evenly from the first byte to the last.
const kFlips = 2445;
/// Every so many of them the stream is queried too.
const kQueryEvery = 40;

test(`${kFlips} flips of one bit: verify names the file every time`, async (t) => {
  const server = await startWith('demo', ['weather']);
  const rows = Array.from({ length: 150 }, (_, n) => ({ n: `${n}`, text: sha256(`${n}`) }));
  await server.land('demo', 'weather', rows, 'b');
  const file = dataOf(server, 'b');
  const good = readFileSync(file);
  assert.ok(good.length >= kFlips, `${good.length} bytes`);
  const answers = {};
  const positions = new Set();
  for (let n = 0; n < kFlips; ++n) {
    const at = Math.round((n * (good.length - 1)) / (kFlips - 1));
    positions.add(at);
    const bad = Buffer.from(good);
    bad[at] ^= 1 << n % 8;
    writeFileSync(file, bad);
    const path = '/knowledgebase/demo/strata/receivers/weather/verify';
    const { problems } = (await server.control(path, {})).json;
    assert.deepEqual(problems.map(({ path: named }) => named), ['data/b.parquet'], `byte ${at}`);
    if (n % kQueryEvery !== 0) continue;
    const answer = await server.query('demo', kStream);
    answers[answer.status] = (answers[answer.status] ?? 0) + 1;
    // It may be a column's statistics or a cell's text: DuckDB cannot know.
    assert.ok([200, 503].includes(answer.status), answer.text);
  }
  assert.equal(positions.size, kFlips);
  assert.deepEqual([positions.has(0), positions.has(good.length - 1)], [true, true]);
  writeFileSync(file, good);
  const clean = await verify(server);
  assert.equal(clean.code, 0, clean.out);
  t.diagnostic(`queries over a damaged file answered ${JSON.stringify(answers)}`);
});

// --- Kills --------------------------------------------------------------------------------------

const claimOf = (server, stream, id) => join(server.streamFolder('demo', stream), 'ids',
                                             sha256(id).slice(0, 2), id);

/// The same bytes under a file of their own, as in a folder that was copied.
function unlinkFrom(file) {
  cpSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

/// A stream in which quarantine has one of each to do, and a healthy batch.
async function landAndDamage(server, stream) {
  const data = (id) => join(server.streamFolder('demo', stream), 'data', `${id}.parquet`);
  await server.createReceiver('demo', stream);
  for (const id of ['bad', 'copied', 'good', 'no-claim', 'other-claim']) {
    await server.land('demo', stream, rowsOf(id), id);
  }
  flip(data('bad'), 100);
  unlinkFrom(data('copied'));
  flip(data('copied'), 100);
  rmSync(claimOf(server, stream, 'no-claim'));
  unlinkFrom(claimOf(server, stream, 'other-claim'));
  flip(claimOf(server, stream, 'other-claim'), 100);
  writeFileSync(data('foreign'), 'no batch');
}

/// What every file of a stream holds that is or was a batch, whatever its name.
function contents(server, stream) {
  const folder = server.streamFolder('demo', stream);
  return new Set(['data', 'ids', 'quarantine'].filter((name) => existsSync(join(folder, name)))
      .flatMap((name) => readdirSync(join(folder, name), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name !== '.schema.parquet')
      .map((entry) => sha256(readFileSync(join(entry.parentPath ?? entry.path, entry.name)))));
}

/// What quarantine does to a stream of its own in a server that dies at `death`, if it comes there;
/// answers whether it did.
async function diesAndGoesOn(server, death) {
  const stream = `q_${death.replaceAll(/\W/g, '_')}`;
  await landAndDamage(server, stream);
  const before = contents(server, stream);
  const expectNothingLost = () => {
    const now = contents(server, stream);
    assert.deepEqual([...before].filter((content) => !now.has(content)), [], death);
  };
  const quarantine = () => server.control(
      `/knowledgebase/demo/strata/receivers/${stream}/verify`, { quarantine: true });
  await server.restart({ STRATA_CRASH_AT: death });
  const answer = await quarantine().catch(() => undefined);
  if (answer === undefined) assert.equal((await server.exited()).code, kKillPointExit, server.log);
  else assert.equal(answer.status, 200, answer.text);
  expectNothingLost();

  await server.restart();
  assert.equal((await quarantine()).status, 200, death);
  expectNothingLost();
  const batches = await server.rows(
      'demo', `SELECT DISTINCT _batch_id FROM raw_extracted.stream_${stream} ORDER BY 1`);
  assert.deepEqual(batches.flat(), ['copied', 'good', 'no-claim', 'other-claim'], death);
  const clean = await verify(server, stream);
  assert.equal(clean.code, 0, clean.out);
  const { files, rows, bytes } = await server.receiver('demo', stream);
  assert.deepEqual({ files, rows, bytes }, await countStream(server.streamFolder('demo', stream)));
  assert.equal((await server.land('demo', stream, rowsOf('bad'), 'bad')).replayed, false);
  assert.equal((await server.land('demo', stream, rowsOf('copied'), 'copied')).replayed, true);
  assert.equal((await server.receiver('demo', stream)).files, 5);
  return answer === undefined;
}

test('quarantine dies at every kill point: nothing is lost, the next goes on', async (t) => {
  const server = await startWith('demo', []);
  let deaths = 0;
  for (const point of kQuarantine) {
    let times = 0;
    while (await diesAndGoesOn(server, `${point}#${times + 1}`)) ++times;
    assert.ok(times > 0, `${point} is reached`);
    deaths += times;
  }
  t.diagnostic(`${deaths} deaths`);
});

// STO-06
test('a file of 0 bytes and a cut one, put into data by hand', async () => {
  const server = await landThree();
  await server.land('demo', 'quiet', rowsOf('q'), 'q');
  const good = readFileSync(dataOf(server, 'a'));
  const quiet = 'SELECT count(*) FROM raw_extracted.stream_quiet';
  for (const [name, bytes] of [['empty', Buffer.alloc(0)],
                               ['cut', good.subarray(0, good.length / 2)]]) {
    writeFileSync(dataOf(server, name), bytes);
    const failed = await server.query('demo', kStream);
    assert.deepEqual([failed.status, failed.json.code], [503, 'io_error'], failed.text);
    assert.match(failed.json.detail, new RegExp(`data/${name}\\.parquet of the stream weather`));
    assert.match(failed.json.detail, /strata verify demo weather --quarantine/);
    const { unreadable, advice, files, rows } = await server.receiver('demo', 'weather');
    assert.deepEqual({ unreadable, files, rows },
                     { unreadable: `data/${name}.parquet`, files: 3, rows: 9 });
    assert.match(advice, /strata verify demo weather/);
    assert.deepEqual(await server.rows('demo', quiet), [[3]]);
    assert.equal((await server.receiver('demo', 'quiet')).unreadable, undefined);

    const moved = await verify(server, 'weather', '--quarantine');
    assert.equal(moved.code, 1, moved.log);
    assert.match(moved.out, new RegExp(`data/${name}\\.parquet: .*moved to quarantine/`));
    assert.equal((await server.rows('demo', kStream)).length, 9);
    assert.equal((await server.receiver('demo', 'weather')).unreadable, undefined);
  }
  assert.equal((await verify(server)).code, 0);
  assert.deepEqual(readdirSync(join(server.streamFolder('demo', 'weather'), 'quarantine')).sort(),
                   ['cut.parquet', 'empty.parquet']);
});

// STO-07
test('names in data that are none of Strata\'s', async () => {
  const server = await landThree();
  const data = join(server.streamFolder('demo', 'weather'), 'data');
  const planted = ['.h.parquet', '.x.parquet.swp', '_SUCCESS', '_tmp', 'd.parquet', 'link.parquet'];
  writeFileSync(join(data, '.x.parquet.swp'), 'an editor');
  mkdirSync(join(data, 'd.parquet'));
  writeFileSync(join(data, '_SUCCESS'), '');
  cpSync(dataOf(server, 'a'), join(data, '.h.parquet'));
  mkdirSync(join(data, '_tmp'));
  cpSync(dataOf(server, 'a'), join(data, '_tmp/y.parquet'));
  symlinkSync('a.parquet', join(data, 'link.parquet'));
  const numbers = async () => {
    const { files, rows } = await server.receiver('demo', 'weather');
    return [files, rows];
  };
  const seen = async () => (await server.rows(
      'demo', 'SELECT count(DISTINCT filename), count(*) FROM raw_extracted.stream_weather'))[0];
  // The rule (docs/VERIFY.md): what ends in .parquet is read, nothing is counted, all is told.
  assert.deepEqual(await numbers(), [3, 9]);
  assert.deepEqual(await seen(), [6, 18]);
  await server.restart();
  assert.deepEqual(await numbers(), [3, 9]);
  const { problems } = JSON.parse((await verify(server, 'weather', '--json')).out);
  assert.deepEqual(problems.map(({ path, kind }) => [path, kind]),
                   planted.map((name) => [`data/${name}`, 'foreign']));

  assert.equal((await verify(server, 'weather', '--quarantine')).code, 1);
  assert.deepEqual(await seen(), [3, 9]);
  assert.deepEqual(await numbers(), [3, 9]);
  assert.deepEqual(readdirSync(join(data, '../quarantine')).sort(), planted);
  assert.equal((await verify(server)).code, 0);

  // Strata itself makes no other name there on the way.
  const made = new Set();
  const watcher = watch(data, (event, name) => made.add(name));
  for (let n = 0; n < 10; ++n) {
    const rows = rowsOf(`w${n}`).map((row) => ({ ...row, [`c${n}`]: 'x' }));
    await server.land('demo', 'weather', rows, `w${n}`);
  }
  const wanted = [...Array.from({ length: 10 }, (_, n) => `w${n}.parquet`), '.schema.parquet'];
  await until(() => wanted.every((name) => made.has(name)), 'the names');
  watcher.close();
  assert.deepEqual([...made].sort(), wanted.sort());
});

test('foreign files are moved away; in a copied kb the claims give batches back', async () => {
  const original = await landThree();
  await original.stop();
  const data = freshFolder();
  mkdirSync(join(data, 'kb'), { recursive: true });
  cpSync(original.kbFolder('demo'), join(data, 'kb/demo'),
         { recursive: true, verbatimSymlinks: true });
  const server = await start({ data });
  assert.equal((await verify(server)).code, 0);

  cpSync(dataOf(server, 'a'), dataOf(server, 'copy-of-a'));
  mkdirSync(dataOf(server, 'folder'));
  rmSync(dataOf(server, 'b'));
  flip(dataOf(server, 'c'), 100);
  const moved = await verify(server, '--quarantine');
  assert.equal(moved.code, 1, moved.log);
  assert.match(moved.out, /data\/copy-of-a\.parquet: foreign: /);
  assert.match(moved.out, /data\/folder\.parquet: foreign: /);
  assert.match(moved.out, /data\/c\.parquet: damaged: .*made again from its claim/);
  assert.match(moved.out, /1 batch finished from its claim/);
  const clean = await verify(server);
  assert.equal(clean.code, 0, clean.out);
  assert.equal((await server.rows('demo', kStream)).length, 9);
  assert.equal((await server.land('demo', 'weather', rowsOf('c'), 'c')).replayed, true);
});

test('while batches land, verify finds no problem, in either of two processes', async () => {
  const first = await landThree();
  const second = await start({ data: first.data });
  let ended = false;
  let landed = 0;
  const client = async (server, name) => {
    for (let n = 0; !ended; ++n) {
      const rows = rowsOf(`${name}${n}`).map((row) => ({ ...row, [`only_${name}${n % 7}`]: 'x' }));
      const answer = await server.post('demo', 'weather', ndjson(rows), { id: `${name}-${n}` });
      assert.equal(answer.status, 200, answer.text);
      ++landed;
    }
  };
  const clients = ['p', 'q', 'r', 's'].map((name, n) => client(n % 2 ? second : first, name));
  for (const server of [first, second, first]) {
    const before = landed;
    await until(() => landed > before + 20, 'batches');
    const path = '/knowledgebase/demo/strata/receivers/weather/verify';
    const answer = await server.control(path, { quarantine: true });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.problems, []);
  }
  ended = true;
  await Promise.all(clients);
  for (const server of [first, second]) {
    await until(async () => (await server.receiver('demo', 'weather')).files === landed + 3,
                'the numbers');
  }
});

test('what is asked wrongly is told', async () => {
  const server = await startWith('demo', ['weather']);
  const path = '/knowledgebase/demo/strata/receivers/weather/verify';
  for (const body of [{ quarantine: 1 }, { after: 'x' }, { all: true }]) {
    assert.equal((await server.control(path, body)).status, 400);
  }
  assert.equal((await server.control(path)).status, 200);
  assert.equal((await verify(server, 'nothing')).code, 1);
  const help = await run(['verify', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.out, /strata verify demo weather --quarantine/);
});
