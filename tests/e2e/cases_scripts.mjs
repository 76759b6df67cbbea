// Cases of tests/cases/door.jsonl that one polite request after another cannot play: half-sent
// bodies, odd framing, many at once, kills. Each takes the Play of its row (cases_steps.mjs); what
// it lands it notes in the ledger, so that the row's files are looked at afterwards.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import { expectProblem, kIngest, kKb } from './cases_steps.mjs';
import { kKillPointExit, ndjson, start, until } from './harness.mjs';
import { batchFiles } from './independent.mjs';

/// What the server says on one connection until it ends it. `parts` are sent one after another;
/// a number among them is a wait in milliseconds. `end` closes our side afterwards.
async function converse(server, parts, { end = false } = {}) {
  const socket = server.connect('');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = new Promise((resolve) => { socket.on('close', resolve); });
  for (const part of parts) {
    if (typeof part === 'number') await sleep(part);
    else if (socket.writable) socket.write(part);
  }
  if (end) socket.end();
  await closed;
  return Buffer.concat(chunks).toString('utf8');
}

const head = (method, path, headers) => Buffer.from(
    [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/x-ndjson',
     ...headers, '', ''].join('\r\n'));
const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const statusLines = (said) => said.match(/HTTP\/1\.1 \d+/g) ?? [];
const countOf = async (play) => Number(
    (await play.server.rows(kKb, `SELECT count(*) FROM ${play.view}`))[0][0]);

/// Lands through the vocabulary, so that the ledger knows.
const land = (play, rows, id, more = {}) => play.step(
    { post: typeof rows === 'string' ? rows : ndjson(rows), id, status: 200, ...more });

/// Notes what was landed beside the vocabulary.
function note(play, answer, stream = play.stream) {
  play.ledger(stream).note({}, null, Buffer.alloc(0), answer);
}

export const kScripts = {
  /// The body in chunks that end inside records; then chunk extensions and a trailer.
  async 'HTT-05'(play) {
    const body = '{"a":"1"}\n{"a":"2"}\n';
    const cuts = [[5, 14], [1, 2], [19, 20]];
    for (const [index, [first, second]] of cuts.entries()) {
      const said = await converse(play.server, [
        head('POST', kIngest(play.stream), [`Idempotency-Key: chunks-${index}`,
                                            'Transfer-Encoding: chunked', 'Connection: close']),
        chunk(body.slice(0, first)), 20, chunk(body.slice(first, second)), 20,
        chunk(body.slice(second)), '0\r\n\r\n',
      ]);
      assert.match(said, /^HTTP\/1\.1 200 /);
      note(play, { status: 200, json: JSON.parse(said.slice(said.indexOf('\r\n\r\n'))) });
    }
    const said = await converse(play.server, [
      head('POST', kIngest(play.stream), ['Idempotency-Key: chunks-x',
                                          'Transfer-Encoding: chunked', 'Connection: close']),
      `14;name=value\r\n${body}\r\n0\r\nX-Trailer: 1\r\n\r\n`,
    ]);
    assert.match(said, /^HTTP\/1\.1 200 /);
    note(play, { status: 200, json: JSON.parse(said.slice(said.indexOf('\r\n\r\n'))) });
    await play.sql({ sql: 'SELECT a, count(*) FROM {view} GROUP BY a ORDER BY a',
                     is: [['1', 4], ['2', 4]] });
    for (const broken of [`5\r\n${body}`, 'zz\r\n', '-1\r\n', `5\r\n{"a":X\r\n`]) {
      const refused = await converse(play.server, [
        head('POST', kIngest(play.stream), ['Idempotency-Key: broken',
                                            'Transfer-Encoding: chunked']), broken, '0\r\n\r\n',
      ]);
      assert.deepEqual(statusLines(refused), ['HTTP/1.1 400'], broken);
    }
  },

  /// The refusal comes in place of the 100; a body that will be taken gets its 100 first.
  async 'HTT-10'(play) {
    const { server, stream } = play;
    const ask = (length) => head('POST', kIngest(stream), [
      `Content-Length: ${length}`, 'Expect: 100-continue', 'Idempotency-Key: expect']);
    for (const refused of [ask(5_000_000), ask(1_048_577)]) {
      const said = await converse(server, [refused]);
      assert.deepEqual(statusLines(said), ['HTTP/1.1 413']);
    }
    const typed = await converse(server, [
      `POST ${kIngest(stream)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n` +
      'Content-Length: 10\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n']);
    assert.deepEqual(statusLines(typed), ['HTTP/1.1 415']);

    const body = '{"a":"1"}\n';
    const socket = server.connect(ask(body.length));
    let said = '';
    socket.setEncoding('utf8').on('data', (text) => { said += text; });
    await until(() => said !== '', 'the 100');
    assert.equal(said, 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(body);
    await until(() => said.includes('"replayed"'), 'the 200');
    assert.deepEqual(statusLines(said), ['HTTP/1.1 100', 'HTTP/1.1 200']);
    note(play, { status: 200, json: JSON.parse(said.slice(said.lastIndexOf('\r\n\r\n'))) });
    socket.destroy();
  },

  /// Two lengths in one head, and their kin: one 400, the connection ends, what hides behind is
  /// never run.
  async 'HTT-12'(play) {
    const hidden = Buffer.concat([
      head('POST', kIngest(play.stream), ['Idempotency-Key: hidden', 'Content-Length: 10']),
      Buffer.from('{"a":"9"}\n')]);
    const framings = [
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Content-Length: 4'],
      ['Content-Length: 0', 'Content-Length: 5'], ['Content-Length: 5, 5'],
      ['Content-Length: +5'], ['Content-Length: 0x5'], ['Content-Length : 5'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      ['Transfer-Encoding: identity, chunked'], ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: "chunked"'],
    ];
    for (const framing of framings) {
      const said = await converse(play.server, [
        head('POST', kIngest(play.stream), ['Idempotency-Key: outer', ...framing]),
        '0\r\n\r\n', hidden,
      ]);
      assert.deepEqual(statusLines(said), ['HTTP/1.1 400'], framing.join(' | '));
      assert.match(said, /application\/problem\+json/);
    }
    const none = await converse(play.server, [
      head('POST', kIngest(play.stream), ['Idempotency-Key: outer', 'Connection: close'])]);
    assert.match(none, /^HTTP\/1\.1 411 /);
    assert.equal((await play.server.receiver(kKb, play.stream)).files, 0);
  },

  /// Whole lines under a length that never comes; then the same id with the whole body.
  async 'HTT-14'(play) {
    const { server, stream } = play;
    const line = '{"a":"1"}\n';
    for (const end of [false, true]) {
      const parts = [head('POST', kIngest(stream), ['Idempotency-Key: cut-1',
                                                    'Content-Length: 10000']), line.repeat(100)];
      if (end) {
        const said = await converse(server, parts, { end });
        assert.doesNotMatch(said, /HTTP\/1\.1 2/);
      } else {
        const socket = server.connect(Buffer.concat(parts.map((part) => Buffer.from(part))));
        await sleep(50);
        socket.destroy();
      }
    }
    const chunked = await converse(server, [
      head('POST', kIngest(stream), ['Idempotency-Key: cut-1', 'Transfer-Encoding: chunked']),
      chunk(line.repeat(100))], { end: true });
    assert.doesNotMatch(chunked, /HTTP\/1\.1 2/);
    assert.deepEqual(batchFiles(server.streamFolder(kKb, stream)), []);
    await land(play, line.repeat(1000), 'cut-1', { answers: { replayed: false, rows: 1000 } });
    assert.equal(await countOf(play), 1000);
  },

  /// The rest of a refused body is no request.
  async 'HTT-16'(play) {
    const { server, stream } = play;
    const inner = Buffer.concat([
      head('POST', kIngest(stream), ['Idempotency-Key: inner', 'Content-Length: 10']),
      Buffer.from('{"a":"9"}\n')]);
    const body = Buffer.concat([Buffer.alloc(1_100_000, 'x'), inner]);
    const outer = (...more) => head('POST', kIngest(stream), [
      `Content-Length: ${body.length}`, 'Connection: keep-alive', ...more]);
    for (const refusal of [['413', outer('Idempotency-Key: outer')]]) {
      const said = await converse(server, [refusal[1], body]);
      assert.deepEqual(statusLines(said), [`HTTP/1.1 ${refusal[0]}`]);
    }
    // Refused by its head for another reason: the body is skipped or the connection ends.
    const small = Buffer.concat([Buffer.alloc(1000, 'x'), inner]);
    const typed = await converse(server, [
      `POST ${kIngest(stream)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n` +
      `Content-Length: ${small.length}\r\n\r\n`, small, 200], { end: true });
    assert.deepEqual(statusLines(typed), ['HTTP/1.1 415']);
    assert.equal((await server.receiver(kKb, stream)).files, 0);
  },

  /// A head that drips, and a body that does: each is ended; a neighbour lands meanwhile.
  async 'HTT-18'(play) {
    const { server, stream } = play;
    const drip = async (begin) => {
      const socket = server.connect(begin);
      let said = '';
      let over = false;
      socket.setEncoding('utf8').on('data', (text) => { said += text; });
      socket.on('close', () => { over = true; });
      await until(() => {
        if (!over && socket.writable) socket.write('x');
        return over;
      }, 'the end of a slow client');
      return said;
    };
    const slow = drip(`POST ${kIngest(stream)} HTTP/1.1\r\nHost: localhost\r\nX-Slow: `);
    await land(play, [{ a: '1' }], 'beside');
    assert.deepEqual(statusLines(await slow), ['HTTP/1.1 408']);
  },

  /// 60 batches of 50 fresh names each: the stream's cap of 1,024 columns ends it.
  async 'COL-10'(play) {
    const row = (n) => ndjson([Object.fromEntries(
        Array.from({ length: 50 }, (_, k) => [`k${n}_${k}`, 'v']))]);
    for (let n = 0; n < 20; ++n) await land(play, row(n), `fresh-${n}`);
    for (const n of [20, 21]) {
      await play.step({ post: row(n), id: `fresh-${n}`, status: 400, code: 'bad_batch',
                        says: ['1024'] });
    }
    await land(play, ndjson([Object.fromEntries(
        Array.from({ length: 24 }, (_, k) => [`last_${k}`, 'v']))]), 'fills-it');
    await play.step({ post: '{"one_more":"v"}\n', id: 'one-more', status: 400,
                      code: 'bad_batch', says: ['1024'] });
    await land(play, '{"k0_0":"again"}\n', 'known-names');
    await play.sql({ sql: 'SELECT count(*), count(k0_0), count(last_23) FROM {view}',
                     is: [[22, 2, 1]] });
  },

  /// 20 at once under one id, ten times: one lands, 19 are told it is there.
  async 'IDM-04'(play) {
    for (let round = 0; round < 10; ++round) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => play.server.post(
          kKb, play.stream, '{"a":"1"}\n', { id: `par-${round}` })));
      assert.deepEqual(answers.map(({ status }) => status), Array(20).fill(200));
      assert.equal(answers.filter(({ json }) => !json.replayed).length, 1);
      assert.equal(new Set(answers.map(({ json }) => json.file_sha256)).size, 1);
      answers.forEach((answer) => note(play, answer));
    }
    assert.equal(await countOf(play), 10);
  },

  /// Killed between the rename and the answer; the retry is a replay.
  async 'IDM-10'(play) {
    const { server, stream } = play;
    await land(play, [{ a: '0' }], 'before');
    await server.restart({ STRATA_CRASH_AT: 'publish:after_rename' });
    await assert.rejects(server.post(kKb, stream, '{"a":"1"}\n', { id: 'crash-1' }));
    assert.equal((await server.exited()).code, kKillPointExit);
    await server.restart();
    await play.step({ post: '{"a":"1"}\n', id: 'crash-1', status: 200,
                      answers: { replayed: true, rows: 1 } });
    play.ledger(stream).landed.set('crash-1', 1);
    assert.equal(await countOf(play), 2);
  },

  /// The same id in another stream and in another knowledgebase is another batch.
  async 'IDM-11'(play) {
    const { server, stream } = play;
    const second = `${stream}_second`;
    await play.create(second);
    await land(play, '{"a":"1"}\n', 'mid-1', { answers: { replayed: false } });
    await land(play, '{"a":"2"}\n', 'mid-1', { to: second, answers: { replayed: false } });
    await server.createKb('cases-other');
    await server.createReceiver('cases-other', stream);
    assert.equal((await server.land('cases-other', stream, [{ a: '3' }], 'mid-1')).replayed, false);
    await play.whole({ columns: ['a'], rows: [['1']] });
    await play.whole({ columns: ['a'], rows: [['2']], of: second });
    assert.deepEqual(await server.rows('cases-other', `SELECT a FROM ${play.view}`), [['3']]);
  },

  /// All files of a stream are taken away by hand: no rows, known columns, and the next one lands.
  async 'SCH-03'(play) {
    const { server, stream } = play;
    await land(play, '{"a":"1","b":"2"}\n', 'goes');
    await play.whole({ columns: ['a', 'b'], rows: [['1', '2']] });
    for (const path of batchFiles(server.streamFolder(kKb, stream))) rmSync(path);
    await play.whole({ columns: ['a', 'b'], rows: [] });
    await server.restart();
    await play.whole({ columns: ['a', 'b'], rows: [] });
    await land(play, '{"b":"4","c":"5"}\n', 'comes');
    await play.whole({ columns: ['a', 'b', 'c'], rows: [[null, '4', '5']] });
    play.forget();  // the numbers count what landed, and somebody else took a file away
  },

  /// More files than a query's process may hold open.
  async 'STO-09'(play) {
    const { stream } = play;
    const files = process.env.STRATA_LONG === '1' ? 5000 : 1000;
    const own = await start();
    await own.createKb(kKb);
    await own.createReceiver(kKb, stream);
    const limited = spawnSync('prlimit', ['--pid', `${own.pid}`, '--nofile=256:256']);
    assert.equal(limited.status, 0, `${limited.stderr}`);
    let next = 0;
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (let n = next++; n < files; n = next++) {
        await own.land(kKb, stream, [{ n: `${n}` }], `one-${n}`);
      }
    }));
    const long = { timeout_ms: 60_000 };
    assert.deepEqual(await own.rows(kKb, `SELECT count(*), count(DISTINCT n) FROM ${play.view}`,
                                    long), [[files, files]]);
    assert.equal((await own.rows(kKb, `SELECT * FROM ${play.view} LIMIT 60`, long)).length, 60);
    assert.equal((await own.receiver(kKb, stream)).files, files);
    await own.stop();
  },

  /// A long question holds the knowledgebase open: a stream's first batch lands all the same.
  async 'LCK-05'(play) {
    const { server } = play;
    const long = server.query(kKb, 'SELECT sum(a.range * b.range) FROM range(100000000) a, ' +
                                   'range(100000) b', { timeout_ms: 8000 });
    await until(() => server.workers().length > 0, 'a worker');
    await land(play, '{"a":"1"}\n', 'first');
    await until(async () => (await server.receiver(kKb, play.stream)).view.state === 'ready',
                'the view');
    assert.equal(await countOf(play), 1);
    assert.equal((await long).status, 504);
  },

  /// 20 first batches at once while five questions run: one view, made once.
  async 'LCK-06'(play) {
    const { server, stream } = play;
    const questions = Array.from({ length: 5 }, () => server.query(
        kKb, 'SELECT sum(a.range) FROM range(3000000) a'));
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => server.post(
        kKb, stream, `{"a":"${n}"}\n`, { id: `first-${n}` })));
    answers.forEach((answer) => {
      assert.equal(answer.status, 200, answer.text);
      note(play, answer);
    });
    for (const question of questions) {
      const { status, text } = await question;
      assert.ok([200, 503].includes(status), text);
    }
    await until(async () => (await server.receiver(kKb, stream)).view.state === 'ready',
                'the view');
    assert.equal(await countOf(play), 20);
    const metrics = await server.metrics();
    const label = `{kb="${kKb}",purpose="view",stream="${stream}"}`;
    assert.equal(metrics[`strata_lock_acquisitions_total${label}`], 1);
  },

  /// Names that a file system or a glob would take for something else are refused at creation.
  async 'IDP-07'(play) {
    const { server } = play;
    const streams = () => readdirSync(join(server.kbFolder(kKb), 'strata/streams')).sort();
    const before = streams();
    const names = ['s?x', 's*', 's[1]', '{a,b}', 'a/b', '../up', '.', '..', 'a.b', 'a-b', 'Big',
                   '_a', 'é', 'a b', "a'b", 'a"b', 'a\\b', 'a%2fb', 'x'.repeat(64), ''];
    for (const stream of names) {
      const answer = await server.control(`/knowledgebase/${kKb}/strata/receivers`, { stream });
      expectProblem(server, answer, { status: 400, code: 'bad_id',
                                      says: ['lower-case letters, digits and _'] });
    }
    assert.deepEqual(streams(), before);
    for (const kb of ['../up', 'A', 'a.b', 'a b', '.', 'x'.repeat(64)]) {
      expectProblem(server, await server.control('/knowledgebase', { id: kb }),
                    { status: 400, code: 'bad_id', says: ['lower-case letters'] });
    }
  },

  /// An id that would climb out of the folder leaves nothing anywhere.
  async 'IDP-01'(play) {
    const { server, stream } = play;
    const tree = () => readdirSync(server.data, { recursive: true }).sort()
                           .filter((path) => !/\/failed\/|\/numbers\/|sqlite|\.tmp/.test(path));
    await land(play, '{"a":"1"}\n', 'fine');
    const before = tree();
    const ids = ['../../../evil', '..', '.', '/etc/evil', 'a/b', '.hidden', 'a\\b', 'a b', '-a',
                 '%2e%2e%2fevil', '', '""', '"a', 'a:b', 'a?b', 'a*b', 'CON/x'];
    for (const id of ids) {
      await play.step({ post: '{"a":"1"}\n', id, status: 400, code: 'bad_id' });
    }
    assert.deepEqual(tree(), before);
    for (const up of [join(server.data, '..', 'evil'), join(server.data, 'evil'), '/etc/evil']) {
      assert.ok(!existsSync(up) && !existsSync(`${up}.parquet`), up);
    }
    await land(play, '{"a":"1"}\n', '"quoted-1"', { answers: { batch_id: 'quoted-1' } });
    assert.ok(statSync(join(server.streamFolder(kKb, stream), 'data/quoted-1.parquet')).isFile());
  },

  'LOD-01': manyProducers,
};

/// Producers that send bad batches, retry what was answered and leave in the middle of a body.
async function manyProducers(play, context) {
  const { server, stream } = play;
  const posts = process.env.STRATA_LONG === '1' ? 500 : 100;
  const history = new History();
  const taken = [];
  const rowsOf = (id) => Array.from({ length: 50 }, (_, n) => ({ id, n: `${n}` }));
  const producer = async (p) => {
    for (let n = 0; n < posts; ++n) {
      const id = `p${p}-${n}`;
      const batch = { kb: kKb, stream, id, rows: rowsOf(id) };
      if (n % 20 === 7) {
        await play.step({ post: `${ndjson(batch.rows)}{"broken":\n`, id, status: 400,
                          code: 'bad_batch', errors: [[51, 'inside the object']] });
      }
      if (n % 50 === 13) {
        const body = ndjson(batch.rows);
        const socket = server.connect(Buffer.concat([
          head('POST', kIngest(stream), [`Idempotency-Key: ${id}`,
                                         `Content-Length: ${body.length}`]),
          Buffer.from(body.slice(0, -1))]));
        await sleep(5);
        socket.destroy();
      }
      const begun = performance.now();
      const answer = await sendLogged(history, server, batch);
      taken.push(performance.now() - begun);
      assert.equal(answer?.status, 200, answer?.text);
      assert.equal(answer.json.replayed, false);
      note(play, answer);
      if (n % 10 === 3) {
        const again = await sendLogged(history, server, batch);
        assert.deepEqual([again.status, again.json.replayed], [200, true]);
      }
    }
  };
  await Promise.all([0, 1, 2, 3].map(producer));
  assert.deepEqual(check(history, await readView(server, kKb, stream)), kNothingWrong);
  assert.equal(await countOf(play), 4 * posts * 50);
  taken.sort((a, b) => a - b);
  const p99 = taken[Math.floor(taken.length * 0.99)];
  context.diagnostic(`${taken.length} batches, p99 ${p99.toFixed(1)} ms`);
}
