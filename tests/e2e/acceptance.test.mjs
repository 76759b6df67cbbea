// Everything at once: four knowledgebases of three streams, several processes on one root, clients
// that never pause, ids sent again in other words and with other content, new columns, readers, and
// a process that is killed and started again now and then. Afterwards nothing acknowledged is lost,
// torn, there twice or there without having been sent, and the numbers are what a fresh count says.
// STRATA_ACCEPTANCE_BATCHES, STRATA_ACCEPTANCE_KILLS: more of it (`make acceptance`).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import { count, kSeed } from './given.mjs';
import { start, until } from './harness.mjs';
import { countStream, verifyRoot } from './independent.mjs';
import { oneOf, randomFrom } from './random.mjs';
import { whileReading } from './while_reading.mjs';

const kBatches = count('STRATA_ACCEPTANCE_BATCHES', 360);
const kKills = count('STRATA_ACCEPTANCE_KILLS', 2);
const kKbs = ['north', 'south', 'east', 'west'];
const kStreams = ['orders', 'weather', 'visits'];
const kProcesses = 3;
const kClientsPerStream = 2;
const kReaders = 2;
const kRowsPerBatch = 4;
/// Names of the columns that come and stay, few enough for a checker's query over every file.
const kColumns = 40;
/// Of a hundred batches so many are sent again, and tried with other content under their id.
const kRepeatedPercent = 20;
const kOtherContentPercent = 5;
const kRestMilliseconds = 10;  // before a request without an answer is sent again

const streams = kKbs.flatMap((kb) => kStreams.map((stream) => ({
  kb, stream, history: new History(), sent: 0, acknowledged: 0,
})));
const counts = { replayed: 0, conflicts: 0, kills: 0, reads: 0, later: 0 };
let next = 0;
let failed = false;  // then everybody ends

const rowsOf = (id, n) => Array.from({ length: kRowsPerBatch }, (_, row) => ({
  id, row: `${row}`, [`column${n % kColumns}`]: `value ${n}`,
}));
/// The same row in other words.
const reordered = (row) => Object.fromEntries(Object.entries(row).reverse());

/// Sends until a process answers for good: any that lives, and it may die before it does.
async function sendUntilAnswered(servers, random, { history, kb, stream }, id, rows) {
  return until(async () => {
    assert.ok(!failed, 'somebody else failed');
    const server = oneOf(random, servers);
    const answer = await sendLogged(history, server, { kb, stream, id, rows });
    if (answer !== undefined && answer.status < 500) return answer;
    await sleep(kRestMilliseconds);
    return undefined;
  }, `an answer to ${id}`);
}

async function produce(servers, random, target) {
  while (next < kBatches && !failed) {
    const n = next++;
    const id = `b${n}`;
    const rows = rowsOf(id, n);
    target.sent += 1;
    const answer = await sendUntilAnswered(servers, random, target, id, rows);
    assert.equal(answer.status, 200, answer.text);
    target.acknowledged += 1;
    if (random() * 100 < kRepeatedPercent) {
      const again = await sendUntilAnswered(servers, random, target, id, rows.map(reordered));
      assert.equal(again.status, 200, again.text);
      assert.equal(again.json.replayed, true, again.text);
      counts.replayed += 1;
    }
    if (random() * 100 < kOtherContentPercent) {
      const other = await sendUntilAnswered(servers, random, target, id, [{ id, other: 'x' }]);
      assert.equal(other.status, 422, other.text);
      counts.conflicts += 1;
    }
  }
}

/// One process after the other, evenly over the batches.
async function kill(servers, random) {
  while (counts.kills < kKills) {
    const due = kBatches * (counts.kills + 1) / (kKills + 1);
    await until(() => next >= due || failed, 'batches before the next kill');
    if (failed) return;
    const victim = oneOf(random, servers);
    await victim.kill();
    await sleep(random() * 100);
    await victim.restart();
    counts.kills += 1;
  }
}

async function read(servers, random) {
  const target = oneOf(random, streams);
  const least = target.acknowledged;
  const server = oneOf(random, servers);
  const sql = 'SELECT count(*), count(DISTINCT _batch_id) FROM ' +
      `raw_extracted.stream_${target.stream}`;
  let answer;
  try {
    answer = await server.query(target.kb, sql, { timeout_ms: 60_000 });
  } catch {
    return;  // its process was killed
  }
  const most = target.sent;
  if (answer.status === 409 && least === 0) return;  // nothing has landed yet
  if (answer.status === 503) {  // the view is still being made, on a busy machine
    assert.equal(answer.headers['retry-after'], '1', answer.text);
    counts.later += 1;
    await sleep(kRestMilliseconds);
    return;
  }
  assert.equal(answer.status, 200, answer.text);
  const [[rows, batches]] = answer.json.rows;
  assert.equal(rows, batches * kRowsPerBatch);
  assert.ok(least <= batches && batches <= most, `${least} <= ${batches} <= ${most}`);
  counts.reads += 1;
}

async function orFail(work) {
  try {
    await work;
  } catch (error) {
    failed = true;
    throw error;
  }
}

/// Every stream: through the view, by one process or another, and by the numbers of each.
async function expectRight(servers) {
  for (const [n, { kb, stream, history }] of streams.entries()) {
    const seen = await readView(servers[n % servers.length], kb, stream);
    assert.deepEqual(check(history, seen), kNothingWrong, `${kb}/${stream}`);
    const counted = await countStream(servers[0].streamFolder(kb, stream));
    for (const server of servers) {
      const numbers = async () => {
        const { files, rows, bytes } = await server.receiver(kb, stream);
        return { files, rows, bytes };
      };
      await until(async () => (await numbers()).files === counted.files, 'the others\' numbers');
      assert.deepEqual(await numbers(), counted, `${kb}/${stream}`);
    }
  }
  const { batches, problems } = await verifyRoot(servers[0].data);
  assert.deepEqual(problems, []);
  assert.equal(batches, kBatches);
}

test(`${kBatches} batches and ${kKills} kills, seed ${kSeed}`, async () => {
  const random = randomFrom(kSeed);
  const servers = [await start()];
  while (servers.length < kProcesses) servers.push(await start({ data: servers[0].data }));
  for (const kb of kKbs) {
    await servers[0].createKb(kb);
    for (const stream of kStreams) await servers[0].createReceiver(kb, stream);
  }
  const began = performance.now();
  const clients = Array.from({ length: kClientsPerStream }, () => streams).flat();
  await whileReading(kReaders, () => orFail(read(servers, random)), () => Promise.all(
      [...clients.map((target) => produce(servers, random, target)), kill(servers, random)].map(
          orFail)));
  const seconds = (performance.now() - began) / 1000;
  await expectRight(servers);
  const { kills, replayed, conflicts, reads, later } = counts;
  console.log(`${kBatches} batches in ${streams.length} streams by ${kProcesses} processes in ` +
              `${seconds.toFixed(1)} s (${Math.round(kBatches / seconds)} a second): ${kills} ` +
              `kills, ${replayed} replays, ${conflicts} times other content, ${reads} reads and ` +
              `${later} told to come again; nothing lost, torn, duplicated or a phantom`);
  assert.ok(counts.replayed > 0 && counts.conflicts > 0 && counts.reads > 0);
});
