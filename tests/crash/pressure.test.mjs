// What a producer is told while the disk is full, too small, in doubt or slow: 507 or 503 with
// Retry-After, at the door where it can be known there, and why is in /readyz, /metrics and the
// receiver. What is held of bodies meanwhile has a bound.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, statfsSync, truncateSync,
         writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { History, sendLogged } from '../e2e/checker.mjs';
import { missing, ndjson, startWith, until } from '../e2e/harness.mjs';
import { fill, seenFromOutside, startWithMount, withoutMounts } from './disks.mjs';
import { batch, expectNothingWrong, kKb, kStream } from './one_stream.mjs';
import { report } from './rig.mjs';
import { inject } from './strace.mjs';

const kMebibyte = 1024 * 1024;
/// Text that no encoder makes smaller.
const noise = (bytes) => randomBytes(Math.ceil(bytes / 2)).toString('hex').slice(0, bytes);

function expectRefused(answer, status, code) {
  assert.deepEqual([answer?.status, answer?.json.code], [status, code], answer?.text);
  assert.equal(answer.headers['retry-after'], '1');
  assert.doesNotMatch(answer.text, /\/tmp\/|\/proc\//, 'no path of the server');
}

/// Everybody who asks is told that, and why, no batch is taken.
async function expectStopped(server, code, why) {
  const { ingest } = await server.receiver(kKb, kStream);
  assert.deepEqual([ingest.state, ingest.code], ['stopped', code]);
  assert.match(ingest.reason, why);
  const ready = await server.get('/readyz');
  assert.equal(ready.status, 503);
  assert.ok(ready.json.reasons.some((reason) => reason.startsWith('Ingest is stopped: ')
                                                && why.test(reason)), ready.text);
  assert.equal((await server.metrics()).strata_ingest_stopped, 1);
}

async function expectOpen(server) {
  assert.deepEqual((await server.receiver(kKb, kStream)).ingest, { state: 'open' });
  assert.equal((await server.get('/readyz')).status, 200);
  assert.equal((await server.metrics()).strata_ingest_stopped, 0);
}

/// What the server says to a head alone, whose body never comes.
async function askWithoutBody(server, bytes) {
  const socket = server.connect([
    `POST /knowledgebase/${kKb}/strata/ingest/${kStream} HTTP/1.1`, 'Host: localhost',
    'Content-Type: application/x-ndjson', 'Idempotency-Key: never-sent',
    `Content-Length: ${bytes}`, 'Expect: 100-continue', '', ''].join('\r\n'));
  let said = '';
  socket.setEncoding('utf8').on('data', (text) => { said += text; });
  await until(() => said.includes('\r\n\r\n'), 'an answer to the head');
  socket.destroy();
  return said.split('\r\n', 1)[0];
}

async function startFull(options) {
  const server = await startWithMount({ options });
  await server.createKb(kKb);
  await server.createReceiver(kKb, kStream);
  return { server, folder: seenFromOutside(server, server.data) };
}

const staged = (folder) => readdirSync(join(folder, 'kb', kKb, 'strata/streams', kStream, '_tmp'),
                                       { recursive: true })
    .filter((name) => name.endsWith('.parquet'));
const failedOf = (folder) => readdirSync(join(folder, 'kb', kKb, 'strata/streams', kStream,
                                              'failed'));

const kFull = 'a full disk: data, staging, `failed/`, catalog';
test('the disk is full', { skip: withoutMounts(kFull, 'full') }, async () => {
  const { server, folder } = await startFull('size=96m');
  const history = new History();
  await sendLogged(history, server, batch('first'));
  await expectOpen(server);
  for (let round = 0; round < 3; ++round) {
    fill(join(folder, 'filler'));
    const sent = batch(`full-${round}`, { [`c${round}`]: 'x'.repeat(5000) });
    expectRefused(await sendLogged(history, server, sent), 507, 'disk_full');
    // A batch that is no batch has not been looked at either.
    expectRefused(await server.post(kKb, kStream, 'no JSON\n', { id: 'bad' }), 507, 'disk_full');
    assert.deepEqual(failedOf(folder), []);
    assert.equal(await askWithoutBody(server, 1000), 'HTTP/1.1 507 Insufficient Storage');
    await expectStopped(server, 'disk_full', /0 KiB free, and 24576 KiB are kept in reserve/);
    const kb = await server.control('/knowledgebase', { id: `other${round}` });
    assert.equal(kb.status, 507, kb.text);
    const receiver = await server.control(`/knowledgebase/${kKb}/strata/receivers`,
                                          { stream: `other${round}` });
    assert.equal(receiver.status, 507, receiver.text);
    await expectNothingWrong(server, history);
    rmSync(join(folder, 'filler'));
    assert.equal((await sendLogged(history, server, sent)).status, 200, 'at once, same id');
    await expectOpen(server);
    await expectNothingWrong(server, history);
  }
  assert.equal((await server.post(kKb, kStream, 'no JSON\n', { id: 'bad' })).status, 400);
  await server.stop();
  report({ suite: 'fault', key: 'full', fault: kFull, states: 3, wrong: 0 });
});

/// Fills the disk of `folder` but for so many bytes.
function leave(folder, bytes) {
  const filler = join(folder, 'filler');
  fill(filler);
  truncateSync(filler, statSync(filler).size - bytes);
  const { bavail, bsize } = statfsSync(folder);
  assert.equal(bavail * bsize, bytes);
}

const kReserve = 'a disk filled down to its reserve';
test('the reserve stays, to the body', { skip: withoutMounts(kReserve, 'reserve') }, async () => {
  const { server, folder } = await startFull('size=96m');
  const history = new History();
  await sendLogged(history, server, batch('first'));
  const reserve = (await server.metrics()).strata_disk_reserve_bytes;
  assert.equal(reserve, 24 * kMebibyte);
  leave(folder, reserve + kMebibyte / 2);
  await expectOpen(server);
  assert.equal(await askWithoutBody(server, kMebibyte), 'HTTP/1.1 507 Insufficient Storage');
  assert.equal(await askWithoutBody(server, kMebibyte / 4), 'HTTP/1.1 100 Continue');
  assert.equal((await sendLogged(history, server, batch('small'))).status, 200);
  leave(folder, reserve - 4096);
  await expectStopped(server, 'disk_full', /kept in reserve/);
  expectRefused(await sendLogged(history, server, batch('refused')), 507, 'disk_full');
  await expectNothingWrong(server, history);
  await server.stop();
  report({ suite: 'fault', key: 'reserve', fault: kReserve, states: 2, wrong: 0 });
});

const kGeneration = 'no room for a generation, though batches land';
test('batches land where a generation finds no room, and are read once there is some',
     { skip: withoutMounts(kGeneration, 'generation') }, async () => {
  const { server, folder } = await startFull('size=96m');
  const history = new History();
  await sendLogged(history, server, batch('first'));
  await expectNothingWrong(server, history);
  await server.createReceiver(kKb, 'unseen');
  leave(folder, (await server.metrics()).strata_disk_reserve_bytes + kMebibyte / 8);
  assert.equal((await server.post(kKb, 'unseen', '{"n":1}\n', { id: 'a' })).status, 200);
  const { view } = await server.receiver(kKb, 'unseen');
  assert.equal(view.state, 'error');
  assert.match(view.reason, /too full to publish a version of the knowledgebase/);
  const sql = 'SELECT n FROM raw_extracted.stream_unseen';
  const refused = await server.query(kKb, sql);
  assert.equal(refused.status, 503, refused.text);
  await expectNothingWrong(server, history);
  assert.equal((await server.post(kKb, 'unseen', '{"n":2}\n', { id: 'b' })).status, 200);
  rmSync(join(folder, 'filler'));
  await until(async () => (await server.query(kKb, sql)).status === 200, 'the view');
  assert.deepEqual(await server.rows(kKb, `${sql} ORDER BY n`), [['1'], ['2']]);
  await server.stop();
  report({ suite: 'fault', key: 'generation', fault: kGeneration, states: 1, wrong: 0 });
});

/// No job holds a file that it would give back, which is an inode for whoever comes next.
async function expectIdle(server, folder) {
  const staging = join(folder, 'kb', kKb, 'staging');
  await until(async () => (await server.receiver(kKb, kStream)).view.state === 'ready'
                          && readdirSync(staging).length === 0, 'the view and the end of its job');
}

function takeInodes(many) {
  const first = readdirSync(many).length;
  assert.throws(() => { for (let n = first; ; ++n) writeFileSync(join(many, `${n}`), ''); },
                { code: 'ENOSPC' });
}

const kInodes = 'a disk without a free inode';
test('no inode is left, though there is space', { skip: withoutMounts(kInodes, 'inodes') },
     async () => {
  const { server, folder } = await startFull('size=96m,nr_inodes=2000');
  const history = new History();
  await sendLogged(history, server, batch('first'));
  const many = join(folder, 'many');
  let asked = 0;
  for (let round = 0; round < 2; ++round) {
    await expectIdle(server, folder);
    mkdirSync(many);
    takeInodes(many);
    // The door cannot know; the write does, and nothing but the producer's copy is left.
    const sent = batch(`none-${round}`, { [`c${round}`]: 'new' });
    expectRefused(await sendLogged(history, server, sent), 507, 'disk_full');
    expectRefused(await sendLogged(history, server, batch(`old-${round}`)), 507, 'disk_full');
    assert.deepEqual(staged(folder), []);
    // `failed/` takes nothing either: a bad batch is told what is wrong with it all the same. One
    // that came while an inode was given back is kept, so it is asked again.
    await until(async () => {
      takeInodes(many);
      const kept = failedOf(folder);
      const bad = await server.post(kKb, kStream, 'no JSON\n', { id: `bad-${++asked}` });
      assert.equal(bad.status, 400, bad.text);
      return failedOf(folder).length === kept.length;
    }, 'a bad batch that is not kept');
    await expectNothingWrong(server, history);
    rmSync(many, { recursive: true });
    assert.equal((await sendLogged(history, server, sent)).status, 200, 'at once, same id');
    await expectNothingWrong(server, history);
  }
  await server.stop();
  report({ suite: 'fault', key: 'inodes', fault: kInodes, states: 2, wrong: 0 });
});

// STO-04
const kSmall = 'a disk of 4 MiB';
test('a disk of 4 MiB is filled by batches alone', { skip: withoutMounts(kSmall, 'small') },
     async () => {
  const server = await startWithMount({ options: 'size=4m' });
  const folder = seenFromOutside(server, server.data);
  writeFileSync(join(folder, 'something-else'), Buffer.alloc(kMebibyte / 2));
  await server.createKb(kKb);
  await server.createReceiver(kKb, kStream);
  const history = new History();
  const rows = (id) => Array.from({ length: 200 }, (_, n) => ({ n: `${n}`, v: noise(200), id }));
  const send = (id) => sendLogged(history, server,
                                  { kb: kKb, stream: kStream, id, rows: rows(id) });
  let landed = 0;
  let answer = await send('b-0');
  while (answer?.status === 200) answer = await send(`b-${++landed}`);
  assert.ok(landed > 0, answer?.text);
  expectRefused(answer, 507, 'disk_full');
  assert.deepEqual(staged(folder), []);
  await expectNothingWrong(server, history);
  assert.deepEqual(await server.rows(kKb, `SELECT count(*) FROM raw_extracted.stream_${kStream}`),
                   [[200 * landed]]);
  rmSync(join(folder, 'something-else'));
  const again = await send(`b-${landed}-again`);
  assert.equal(again?.status, 200, again?.text);
  await expectOpen(server);
  await expectNothingWrong(server, history);
  await server.stop();
  report({ suite: 'fault', key: 'small', fault: kSmall, states: landed, wrong: 0 });
});

test('no file may be larger than a limit', async () => {
  const server = await startWith(kKb, [kStream]);
  const history = new History();
  await sendLogged(history, server, batch('first'));
  const limit = (soft) => assert.equal(
      spawnSync('prlimit', ['--pid', `${server.pid}`, `--fsize=${soft}:`]).status, 0);
  limit(2000);
  const sent = batch('large', { text: noise(50_000) });
  expectRefused(await sendLogged(history, server, sent), 503, 'io_error');
  limit('unlimited');
  assert.equal((await sendLogged(history, server, sent)).status, 200);
  await expectNothingWrong(server, history);
  await server.stop();
  report({ suite: 'fault', key: 'fsize', fault: 'a limit of the size of files', states: 1,
           wrong: 0 });
});

// STO-08
const kBelow = 'another file system mounted on `_tmp/`';
test('a file system is mounted on _tmp only', { skip: withoutMounts(kBelow, 'mount') },
     async () => {
  const before = await startWith(kKb, [kStream, 'other']);
  const history = new History();
  await sendLogged(history, before, batch('first'));
  await before.stop();
  const on = join(before.streamFolder(kKb, kStream), '_tmp');
  const server = await startWithMount({ data: before.data, on, options: 'size=16m' });
  const data = join(server.streamFolder(kKb, kStream), 'data');
  const names = readdirSync(data).sort();
  for (const sent of [batch('second'), batch('third', { c: 'a new column' })]) {
    const answer = await sendLogged(history, server, sent);
    expectRefused(answer, 503, 'io_error');
    assert.match(answer.json.detail, /another file system.*mounted below the root/);
  }
  assert.deepEqual(readdirSync(data).sort(), names, 'no copy');
  assert.deepEqual(staged(seenFromOutside(server, server.data)), []);
  await expectNothingWrong(server, history);
  await server.land(kKb, 'other', [{ a: '1' }], 'other-streams-go-on');
  await server.stop();
  await before.restart();
  assert.equal((await sendLogged(history, before, batch('second'))).status, 200);
  await expectNothingWrong(before, history);
  await before.stop();
  report({ suite: 'fault', key: 'mount', fault: kBelow, states: 2, wrong: 0 });
});

// --- A slow disk --------------------------------------------------------------------------------

const memoryOf = (server, name) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm')
    .exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);

/// Many more than the queue and the memory for bodies take.
const kClients = 400;
const kGroup = 40;
/// Commit threads (src/app/serve.cpp); what one needs for a batch besides its body: the cells, the
/// encoded file and what the encoder works with, in bodies.
const kCommitThreads = 8;
const kWorkInBodies = 8;
/// What a connection holds besides its body: head, buffers, sockets' share.
const kConnectionBytes = 64 * 1024;

/// The requests of many clients, all of them but their last bytes. Every other one is chunked.
function sendNearlyAll(server, ids, body) {
  return ids.map((id, n) => {
    const head = [`POST /knowledgebase/${kKb}/strata/ingest/${kStream} HTTP/1.1`,
                  'Host: localhost', 'Content-Type: application/x-ndjson',
                  `Idempotency-Key: ${id}`, 'Connection: close'];
    const [framing, begin, end] = n % 2 === 0
        ? [`Content-Length: ${body.length}`, '', '']
        : ['Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n`, '\r\n0\r\n\r\n'];
    const socket = server.connect(`${[...head, framing].join('\r\n')}\r\n\r\n${begin}`);
    const client = { id, socket, said: '', ended: false };
    socket.setEncoding('utf8').on('data', (text) => { client.said += text; });
    socket.on('close', () => { client.ended = true; });
    socket.write(body.subarray(0, -1));
    client.finish = () => socket.writable && socket.write(Buffer.concat([body.subarray(-1),
                                                                         Buffer.from(end)]));
    return client;
  });
}

test('fsync is slow and many clients send large bodies at once: queue and memory are bounded',
     { skip: missing('/usr/bin/strace') }, async () => {
  const server = await startWith(kKb, [kStream]);
  const { body_bytes_default: bodyBytes, body_bytes_held_max: heldMax } =
      (await server.get('/limits')).json;
  const body = Buffer.from(ndjson(
      Array.from({ length: 1000 }, (_, n) => ({ n: `${n}`, text: noise(990) }))));
  assert.ok(body.length > 0.95 * bodyBytes && body.length <= bodyBytes, `${body.length}`);
  const send = (id) => server.post(kKb, kStream, body, { id });
  // Every commit thread has worked before: what they keep is not the bodies'.
  for (let round = 0; round < 3; ++round) {
    await Promise.all(Array.from({ length: kCommitThreads }, (_, n) => send(`warm-${round}-${n}`)));
  }
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5');  // the high-water mark begins anew
  const baseline = memoryOf(server, 'VmRSS');
  let over = false;
  const gauges = [];
  const watch = (async () => {
    while (!over) gauges.push(await server.metrics());
  })();

  const ids = Array.from({ length: kClients }, (_, n) => `b-${n}`);
  // A queue's worth after the other, so that each gets past the door, and each body is held but for
  // its last byte or refused.
  const clients = [];
  while (clients.length < kClients) {
    const group = ids.slice(clients.length, clients.length + kGroup);
    clients.push(...sendNearlyAll(server, group, body));
    await until(async () => {
      const { strata_body_bytes_held: held } = await server.metrics();
      return held > 0.98 * body.length * clients.filter(({ said }) => said === '').length;
    }, 'each to be read or refused');
  }
  const whileRead = clients.filter(({ said }) => said !== '').length;
  const slow = await inject(server.pid, 'fsync', 'delay_enter=200000');
  for (const client of clients) client.finish();
  await until(() => clients.every(({ ended }) => ended), 'the answers');
  await slow.detach();
  const waiting = [];
  for (const { id, said } of clients) {
    if (/^HTTP\/1\.1 200 /.test(said)) continue;
    assert.match(said, /^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 1\r\n[\s\S]*"code":"busy"/);
    waiting.push(id);
  }
  over = true;
  await watch;
  const peak = memoryOf(server, 'VmHWM') - baseline;

  assert.ok(whileRead > 0 && waiting.length > whileRead, `${whileRead}, ${waiting.length}`);
  const most = (name) => Math.max(...gauges.map((gauge) => gauge[name]));
  assert.ok(most('strata_commit_queue') <= 64);
  assert.ok(most('strata_body_bytes_held') <= heldMax);
  const bound = heldMax + kCommitThreads * kWorkInBodies * bodyBytes + kClients * kConnectionBytes;
  assert.ok(bound < kClients * body.length, 'all at once would pass the bound');
  console.log(`a slow disk: ${kClients} bodies of ${body.length} bytes at once, ${waiting.length} `
              + `refused, ${whileRead} of them while they were read; `
              + `${(peak / kMebibyte).toFixed(0)} MiB more than before at most, bound `
              + `${(bound / kMebibyte).toFixed(0)} MiB`);
  // Sanitizers keep what is freed, so that they know it again.
  if (process.env.STRATA_SANITIZED !== '1') assert.ok(peak <= bound, `${peak} of ${bound} bytes`);
  else console.log('the bound of the memory is not asserted: sanitized');

  // It recovers: all of them land, none twice.
  while (waiting.length > 0) {
    const answers = await Promise.all(waiting.splice(0, kCommitThreads).map(send));
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  }
  assert.deepEqual(await server.rows(kKb, `SELECT count(*), count(DISTINCT _batch_id)
                                           FROM raw_extracted.stream_${kStream}`),
                   [[1000 * (kClients + 24), kClients + 24]]);
  assert.equal((await server.metrics()).strata_body_bytes_held, 0);
  await server.stop();
  report({ suite: 'fault', key: 'slow-many', fault: 'a slow disk, and more bodies than memory',
           states: kClients, wrong: 0 });
});
