// One id to two server processes at the same instant, the bodies written differently: exactly one
// lands, the others are told the first's figures; a body with one cell changed is refused by both,
// also after both have started again, after a clean stop and after a kill in the midst of it.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../e2e/checker.mjs';
import { count, kSeed } from '../e2e/given.mjs';
import { Server } from '../e2e/harness.mjs';
import { verifyRoot } from '../e2e/independent.mjs';
import { randomFrom } from '../e2e/random.mjs';
import { encode, makeBatch, pickCell } from './reencode.mjs';
import { report, seeds, withFolder } from './rig.mjs';

const kKb = 'demo';
const kStream = 's';
const kPath = `/knowledgebase/${kKb}/strata/ingest/${kStream}`;
const kOneRoot = ['root', 'root'];
const kServers = kOneRoot.length;
const kSendsAtOnce = 4;
const kAskedAtOnce = 8;
const kRoundsPerRoot = 1000;

// --- Sending ------------------------------------------------------------------------------------

/// Sends all of a body but its last byte. `finish` sends that and answers what the server says,
/// nothing where it was killed.
async function hold(server, id, { bytes, headers }) {
  const sent = request({ host: '127.0.0.1', port: server.port, agent: server.agent, method: 'POST',
                         path: kPath, headers: { 'Content-Type': 'application/x-ndjson',
                                                 'Content-Length': bytes.length,
                                                 'Idempotency-Key': id, ...headers } });
  const answer = new Promise((resolve) => {
    sent.on('error', () => resolve(undefined));
    sent.on('response', (message) => {
      const chunks = [];
      message.on('data', (chunk) => chunks.push(chunk));
      message.on('error', () => resolve(undefined));
      message.on('end', () => resolve({ status: message.statusCode,
                                        json: JSON.parse(Buffer.concat(chunks)) }));
    });
  });
  await new Promise((resolve, reject) => {
    sent.write(bytes.subarray(0, -1), (error) => (error ? reject(error) : resolve()));
  });
  return () => {
    sent.end(bytes.subarray(-1));
    return answer;
  };
}

/// The barrier: every server has all but the last byte of its sends, then those go out in one turn.
/// A send is `{ to, content, body }`: the server's number, what the body says, the body. Answers
/// them with their answers; `meanwhile` runs while those are awaited.
async function sendAtOnce(servers, id, sends, meanwhile = () => {}) {
  const held = await Promise.all(sends.map(({ to, body }) => hold(servers[to], id, body)));
  const answers = held.map((finish) => finish());
  await meanwhile();
  return Promise.all(sends.map(async (send, n) => ({ ...send, answer: await answers[n] })));
}

// --- The verdict --------------------------------------------------------------------------------

/// What is wrong with the answers to the sends of one id, as sentences, and what the id stands for
/// from now on, `{ content, figures }`: `known`, if it stood for something before. A send without
/// an answer, because its server was killed, says nothing, but may have landed.
function judge(id, sends, known) {
  const told = sends.filter(({ answer }) => answer !== undefined);
  const fresh = told.filter(({ answer }) => answer.status === 200 && !answer.json.replayed);
  const landings = fresh.length + (known === undefined ? 0 : 1);
  const wrong = [];
  if (landings > 1) wrong.push(`${id} landed ${landings} times`);
  if (landings === 0 && told.length === sends.length) wrong.push(`nobody landed ${id}`);
  for (const { body, answer } of fresh) {
    if (answer.json.body_sha256 !== sha256(body.plain)) wrong.push(`${id}: another body's digest`);
  }
  const figuresOf = ({ json: { replayed, ...figures } }) => JSON.stringify(figures);
  const winner = fresh[0] ?? told.find(({ answer }) => answer.status === 200);
  const first = known ??
      (winner && { content: winner.content, figures: figuresOf(winner.answer) });
  for (const { content, answer } of told) {
    const same = content === first?.content;
    if (answer.status !== (same ? 200 : 422)) {
      wrong.push(`${id}: ${answer.status} for ${same ? 'the same' : 'other'} content: ` +
                 JSON.stringify(answer.json));
    } else if (same && figuresOf(answer) !== first.figures) {
      wrong.push(`${id}: other figures than the first's: ${figuresOf(answer)}`);
    } else if (!same && answer.json.code !== 'batch_id_reused') {
      wrong.push(`${id}: refused as ${answer.json.code}`);
    }
  }
  return { wrong, first };
}

// --- Rounds -------------------------------------------------------------------------------------

/// A server over each of `roots`, ended whatever happens to `work`. On the disk, not in memory: its
/// syncs hold open the moment between the look for a claim and the claim, where duplicates meet.
function withServers(roots, work) {
  return withFolder(async (folder) => {
    const servers = [];
    try {
      for (const root of roots) {
        const server = await new Server({ data: join(folder, root) }).begin({});
        servers.push(server);
        if ((await server.get(`/knowledgebase/${kKb}`)).status === 200) continue;
        await server.createKb(kKb);
        await server.createReceiver(kKb, kStream);
      }
      return await work(servers);
    } finally {
      await Promise.all(servers.map((server) => server.kill()));
    }
  });
}

/// A send to server `to`: of the batch as it is, or with a cell changed.
function sendOf(random, batch, to, changed) {
  return { to, content: changed === undefined ? 'as made' : `changed ${changed}`,
           body: encode(random, batch, changed) };
}
const toEither = (count) => Array.from({ length: count }, (_, n) => n % kServers);

/// The same cells from all; in half of the rounds every other send has other content, and whichever
/// lands first holds. Then other content alone, to each.
async function round(random, servers, id) {
  const batch = makeBatch(random);
  const rival = random() < 0.5 ? pickCell(random, batch) : undefined;
  const sends = toEither(kSendsAtOnce).map((to, n) =>
      sendOf(random, batch, to, n === 0 || n === 3 ? rival : undefined));
  if (random() < 0.5) sends.reverse();
  const { wrong, first } = judge(id, await sendAtOnce(servers, id, sends));
  if (first === undefined) return { id, batch, wrong };
  const later = toEither(kServers).map((to) =>
      sendOf(random, batch, to, pickCell(random, batch)));
  wrong.push(...judge(id, await sendAtOnce(servers, id, later), first).wrong);
  return { id, batch, wrong, first };
}

/// All are killed while they have the last bytes, and asked again once they are back.
async function killedRound(random, servers, id) {
  const batch = makeBatch(random);
  const sends = () => toEither(kSendsAtOnce).map((to) => sendOf(random, batch, to));
  const killAll = () => Promise.all(servers.map((server) => server.kill()));
  const killed = await sendAtOnce(servers, id, sends(), killAll);
  for (const server of servers) await server.restart();
  const after = await sendAtOnce(servers, id, sends());
  return { id, batch, ...judge(id, [...killed, ...after]) };
}

/// Each id once more to each server, now started again: as it is, and with a cell changed.
async function askAgain(random, servers, landed) {
  const wrong = [];
  const open = landed.values();
  await Promise.all(Array.from({ length: kAskedAtOnce }, async () => {
    for (const { id, batch, first } of open) {
      const sends = toEither(kServers).flatMap((to) => [
        sendOf(random, batch, to), sendOf(random, batch, to, pickCell(random, batch))]);
      wrong.push(...judge(id, await sendAtOnce(servers, id, sends), first).wrong);
    }
  }));
  return wrong;
}

/// What the files and the view hold in the end.
async function lookAtAll(servers, landed) {
  const { batches, problems } = await verifyRoot(servers[0].data);
  const wrong = [...problems];
  if (batches !== landed.length) wrong.push(`${batches} files for ${landed.length} ids`);
  const sql = `SELECT _batch_id, count(*) FROM raw_extracted.stream_${kStream} GROUP BY 1`;
  for (const server of servers) {
    const rows = new Map(await server.rows(kKb, sql));
    for (const { id, batch } of landed) {
      if (rows.get(id) !== batch.length) wrong.push(`the view has ${rows.get(id)} rows of ${id}`);
    }
  }
  return wrong;
}

/// `rounds` of them over a fresh root, then the servers start again. What is wrong, all of it.
function duplicates(seed, rounds) {
  return withServers(kOneRoot, async (servers) => {
    const random = randomFrom(seed);
    const landed = [];
    for (let n = 0; n < rounds - 1; ++n) landed.push(await round(random, servers, `d-${n}`));
    landed.push(await killedRound(random, servers, `d-${rounds - 1}`));
    const wrong = landed.flatMap((one) => one.wrong);
    if (wrong.length > 0) return wrong;
    wrong.push(...await askAgain(random, servers, landed));
    for (const server of servers) await server.restart();
    wrong.push(...await askAgain(random, servers, landed), ...await lookAtAll(servers, landed));
    return wrong;
  });
}

const kRounds = count('STRATA_DUPLICATES', 40);
test(`${kRounds} ids in two servers at once, each body written differently, seed ${kSeed}`,
     async () => {
  for (let done = 0; done < kRounds; done += kRoundsPerRoot) {
    const seed = kSeed + done / kRoundsPerRoot;
    const rounds = Math.min(kRoundsPerRoot, kRounds - done);
    assert.deepEqual(await duplicates(seed, rounds), [], `seed ${seed}, ${rounds} rounds`);
  }
  report({ suite: 'duplicates', key: 'servers', states: kRounds, wrong: 0,
           fault: 'the same id in two servers at once, written differently' });
});

// --- That it would notice -----------------------------------------------------------------------

const kOwnRoots = Array.from({ length: kServers }, (_, n) => `root-${n}`);
test(`caught: each server has claims of its own, with each of ${seeds.length} seeds from ${kSeed}`,
     async () => {
  const missed = await withServers(kOwnRoots, async (servers) => {
    const rounds = [];
    for (const seed of seeds) rounds.push(await round(randomFrom(seed), servers, `d-${seed}`));
    return rounds.filter(({ id, wrong }) => !wrong.includes(`${id} landed 2 times`));
  });
  report({ suite: 'duplicates', key: 'own-claims', mutant: 'own-claims',
           caught: seeds.length - missed.length, of: seeds.length });
  assert.deepEqual(missed, []);
});

const kBody = { plain: Buffer.from('{"a":1}') };
const kFigures = { rows: 1, body_sha256: sha256(kBody.plain) };
const told = (status, json, content = 'as made') => ({ content, body: kBody,
                                                       answer: { status, json } });
const fresh = told(200, { ...kFigures, replayed: false });
const replay = told(200, { ...kFigures, replayed: true });
const reused = told(422, { code: 'batch_id_reused' }, 'changed 0,0');
const unanswered = { content: 'as made', body: kBody };
const kKnown = judge('x', [fresh]).first;
const kPlanted = [
  ['one lands, one is a replay, one is refused', [fresh, replay, reused], undefined, []],
  ['replays of what is known', [replay, reused], kKnown, []],
  ['a kill hid the first answer', [unanswered, replay], undefined, []],
  ['two land', [fresh, fresh], undefined, ['x landed 2 times']],
  ['it lands again', [fresh], kKnown, ['x landed 2 times']],
  ['nobody lands', [replay, replay], undefined, ['nobody landed x']],
  ['a replay of other figures', [fresh, told(200, { ...kFigures, rows: 2, replayed: true })],
   undefined, [/^x: other figures than the first's: /]],
  ['a digest of another body', [told(200, { rows: 1, body_sha256: '00', replayed: false })],
   undefined, ["x: another body's digest"]],
  ['the same content refused', [fresh, { ...reused, content: 'as made' }], undefined,
   [/^x: 422 for the same content/]],
  ['other content taken', [fresh, { ...replay, content: 'changed 0,0' }], undefined,
   [/^x: 200 for other content/]],
  ['other content refused for another reason',
   [fresh, told(422, { code: 'bad_batch' }, 'changed 0,0')], undefined,
   ['x: refused as bad_batch']],
  ['no room', [fresh, told(503, { code: 'busy' })], undefined, [/^x: 503 for the same content/]],
];
for (const [name, sends, known, expected] of kPlanted) {
  test(`the verdict: ${name}`, () => {
    const { wrong } = judge('x', sends, known);
    assert.equal(wrong.length, expected.length, `${wrong}`);
    for (const [n, sentence] of expected.entries()) {
      if (sentence instanceof RegExp) assert.match(wrong[n], sentence);
      else assert.equal(wrong[n], sentence);
    }
  });
}

test('bodies differ in what carries the cells, and not in the cells', () => {
  const random = randomFrom(kSeed);
  const read = ({ plain }) => `${plain}`.trim().split(/\s*\n\s*/).map((text) => JSON.parse(text));
  for (let n = 0; n < 20; ++n) {
    const batch = makeBatch(random);
    const bodies = Array.from({ length: 4 }, () => encode(random, batch));
    assert.ok(new Set(bodies.map(({ plain }) => `${plain}`)).size > 1);
    for (const body of bodies) assert.equal(read(body).length, batch.length);
    const [row, cell] = pickCell(random, batch);
    assert.ok(`${encode(random, batch, [row, cell]).plain}`.includes(batch[row][cell].other));
  }
});
