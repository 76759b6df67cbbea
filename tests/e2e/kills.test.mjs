// Random SIGKILLs of two processes on one root under clients, then the checker. A fresh root comes
// every so many kills, so that none grows without bound; the one before is checked then.
// STRATA_KILL_ROUNDS: more of them by hand.
import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { report } from '../crash/rig.mjs';
import { check, History, readView, sendLogged } from './checker.mjs';
import { count, kSeed } from './given.mjs';
import { start, startWith, until } from './harness.mjs';
import { batchFiles, verifyRoot } from './independent.mjs';
import { oneOf, randomFrom } from './random.mjs';

const kKb = 'demo';
const kStream = 's';
const kRounds = count('STRATA_KILL_ROUNDS', 12);
const kClients = 8;
const kRowsOfBatch = 3;
/// The checker reads a stream in one query, which holds every file's footer in memory.
const kRoundsOfRoot = 25;
/// Short beside a send, so that a kill meets sends whatever the number of rounds is; so many are on
/// their way to the one that is killed.
const kRestMilliseconds = 4;
const kSendsMet = 2;
const kLifeMillisecondsMax = 250;
const kDeadMillisecondsMax = 50;

/// Two processes on a root of their own, and what their clients saw.
class Pair {
  history = new History();
  cut = 0;
  #down;  // the server that is not listening now
  #sending = new Map();  // to each server, so many at this moment
  #stopped = false;
  #next = 0;

  async start() {
    this.servers = [await startWith(kKb, [kStream])];
    this.servers.push(await start({ data: this.servers[0].data }));
    return this;
  }

  async kill(random) {
    const victim = oneOf(random, this.servers);
    await sleep(random() * kLifeMillisecondsMax);
    // Where nothing else runs, most moments have none on its way.
    await until(() => this.#sending.get(victim) >= kSendsMet, 'sends to the one to be killed');
    this.#down = victim;
    await victim.kill();
    await sleep(random() * kDeadMillisecondsMax);
    await victim.restart();
    this.#down = undefined;
  }

  /// The same id to both, and again until both answered: a retry is part of the contract.
  async #send(n) {
    const id = `c${n}-${this.#next++}`;
    const column = `column${this.#next % 40}`;
    const rows = Array.from({ length: kRowsOfBatch }, (_, k) => ({ k: `${k}`, id, [column]: 'x' }));
    for (let attempt = 0; !this.#stopped && attempt < 50; ++attempt) {
      const turn = this.servers[(n + attempt) % 2];
      const server = turn === this.#down ? this.servers.find((one) => one !== turn) : turn;
      const sending = (more) =>
        this.#sending.set(server, (this.#sending.get(server) ?? 0) + more);
      sending(1);
      const answer = await sendLogged(this.history, server, { kb: kKb, stream: kStream, id, rows });
      sending(-1);
      if (answer === undefined) ++this.cut;  // it was listening when this was sent
      if (answer?.status === 200 && attempt > 0) return;
    }
  }

  /// Clients send while `work` goes on.
  async underClients(work) {
    const clients = Array.from({ length: kClients }, async (_, n) => {
      while (!this.#stopped) {
        await this.#send(n);
        await sleep(kRestMilliseconds);
      }
    });
    try {
      await work();
    } finally {
      this.#stopped = true;
      await Promise.all(clients);
    }
  }

  /// What is wrong with what is there: a list of sentences.
  async problems() {
    const files = batchFiles(this.servers[0].streamFolder(kKb, kStream));
    const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
    const counted = { files: files.length, rows: kRowsOfBatch * files.length, bytes };
    const problems = (await verifyRoot(this.servers[0].data)).problems;
    for (const server of this.servers) {
      const found = check(this.history, await readView(server, kKb, kStream));
      problems.push(...Object.entries(found).flatMap(
          ([kind, ids]) => ids.map((id) => `${kind}: ${id}`)));
      await until(async () => (await server.receiver(kKb, kStream)).files === counted.files,
                  'numbers that include the other process');
      const { rows, bytes: size } = await server.receiver(kKb, kStream);
      assert.deepEqual({ files: files.length, rows, bytes: size }, counted);
    }
    assert.equal((await this.servers[0].metrics())[`strata_generation{kb="${kKb}"}`], 2);
    return problems;
  }

  async end() {
    for (const server of this.servers) await server.stop();
    rmSync(this.servers[0].data, { recursive: true });
  }
}

test(`${kRounds} rounds of kills, seed ${kSeed}`, async () => {
  const random = randomFrom(kSeed);
  const seen = { kills: 0, cut: 0, landed: 0 };
  // After each root, so that a run that is ended early says what it tried.
  const tell = (wrong) => report({
    suite: 'kill', key: 'random', fault: 'two processes under clients, killed at any moment',
    states: seen.kills, also: { 'sends cut': seen.cut, 'batches landed': seen.landed }, wrong,
  });
  while (seen.kills < kRounds) {
    const pair = await new Pair().start();
    const rounds = Math.min(kRoundsOfRoot, kRounds - seen.kills);
    await pair.underClients(async () => {
      for (let n = 0; n < rounds; ++n) await pair.kill(random);
    });
    seen.kills += rounds;
    seen.cut += pair.cut;
    seen.landed += new Set(pair.history.outcomes('ok').map(({ id }) => id)).size;
    let wrong = 1;  // a check that does not come to its end
    try {
      const problems = await pair.problems();
      wrong = problems.length;
      assert.deepEqual(problems, []);
    } finally {
      tell(wrong);
    }
    console.log(`${seen.kills} kills, ${seen.cut} sends cut, ${seen.landed} batches landed`);
    await pair.end();
  }
  assert.ok(seen.landed > kRounds, 'batches landed');
  assert.ok(seen.cut >= seen.kills, `${seen.cut} sends cut by ${seen.kills} kills`);
});
