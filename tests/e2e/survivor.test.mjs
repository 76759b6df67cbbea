// Two server processes on one root; one dies and stays dead. The other, alone under its clients,
// finishes what the dead one had claimed, without anybody's retry, and both count the same.
// STRATA_KILL_ROUNDS: more of it by hand. STRATA_SEED: the rounds of a failure again.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import { count, kSeed } from './given.mjs';
import { kKillPointExit, start, startWith, until } from './harness.mjs';
import { countStream, verifyRoot } from './independent.mjs';
import { kBeforeClaim, kFromClaim, kRace, kRecovery, kReplay } from './kill_points.mjs';
import { below, randomFrom } from './random.mjs';

const kKb = 'demo';
const kStream = 's';
const kRounds = count('STRATA_KILL_ROUNDS', 3);
const kLoadClients = 2;
/// The load's pace: the checker reads all of it in one query.
const kPaceMilliseconds = 40;

/// A root with a survivor, the others that share it, and what all clients were told.
class Root {
  static async make(random) {
    const root = new Root();
    root.random = random;
    root.survivor = await startWith(kKb, [kStream]);
    root.history = new History();
    root.next = 0;
    return root;
  }

  get folder() { return this.survivor.streamFolder(kKb, kStream); }
  another(env = {}) { return start({ data: this.survivor.data, env }); }

  /// Now and then a column that is new, so that deaths meet the registry too.
  batch(id) {
    const rows = [1, 2, 3].map((n) => ({ n: `${n}`, id, [`c${this.next % 30}`]: `${this.next}` }));
    ++this.next;
    return { kb: kKb, stream: kStream, id, rows };
  }

  send(server, sent) { return sendLogged(this.history, server, sent); }

  /// Clients of `servers` until stop() is called, which answers the batches nobody answered.
  load(name, servers, clients = kLoadClients) {
    let stopped = false;
    const unanswered = [];
    const client = async (n) => {
      for (let k = 0; !stopped; ++k) {
        const sent = this.batch(`${name}-${n}-${k}`);
        const answer = await this.send(servers[(n + k) % servers.length], sent);
        if (answer?.status !== 200) unanswered.push(sent);
        await sleep(kPaceMilliseconds);
      }
    };
    const running = Array.from({ length: clients }, (_, n) => client(n));
    return async () => {
      stopped = true;
      await Promise.all(running);
      return unanswered;
    };
  }

  /// What ended processes left is settled: no staging folder but those of `living`.
  async settled(...living) {
    const staging = () => readdirSync(join(this.folder, '_tmp'));
    await until(() => staging().length === living.length, 'the take-over by those that live');
    for (const { pid } of living) {
      assert.ok(staging().some((name) => name.endsWith(`-${pid}`)), 'the living keep theirs');
    }
  }

  /// Whether the batch is there is told by the folder, so that no look of ours finishes it.
  has(id) { return existsSync(join(this.folder, `data/${id}.parquet`)); }

  /// The checker on what `server` reads, and its numbers against a count of the files.
  async expectRight(server) {
    const seen = await readView(server, kKb, kStream);
    assert.deepEqual(check(this.history, seen), kNothingWrong);
    const counted = await countStream(this.folder);
    // What others landed is known once their checkpoint is read, at most a second later.
    await until(async () => (await server.receiver(kKb, kStream)).files === counted.files,
                'numbers that include the other processes');
    const { files, rows, bytes } = await server.receiver(kKb, kStream);
    assert.deepEqual({ files, rows, bytes }, counted);
    assert.equal(seen.size, counted.files);
    return seen;
  }

  /// Retried now: an answer says whether it was there before, and changes no number.
  async retry(unanswered, server, seen) {
    for (const sent of unanswered) {
      const answer = await this.send(server, sent);
      assert.equal(answer?.status, 200, answer?.text);
      assert.equal(answer.json.replayed, seen.has(sent.id), sent.id);
    }
  }

  async end(...servers) {
    assert.deepEqual((await verifyRoot(this.survivor.data)).problems, []);
    for (const server of servers) {
      const ready = await server.get('/readyz');
      assert.equal(ready.status, 200, ready.text);
      await server.stop();
    }
  }
}

async function diedAtItsPoint(server) {
  const { code, log } = await server.exited();
  assert.equal(code, kKillPointExit, log);
}

/// The victims are dead and stay so: the survivor settles, answers and counts, then they come back.
async function aloneThenTogether(root, stopLoad, { victims, lost }) {
  const { survivor } = root;
  await root.settled(survivor);
  assert.deepEqual(lost.map(({ id }) => root.has(id)), lost.map(({ claimed }) => claimed),
                   'what was claimed is there, and nothing else, before any retry');
  assert.deepEqual(await stopLoad(), [], 'the survivor answered every client');
  const seen = await root.expectRight(survivor);
  await root.retry(lost, survivor, seen);
  await root.expectRight(survivor);

  await victims[0].restart();
  for (const server of [victims[0], survivor]) await root.expectRight(server);
  await victims[0].stop();
}

/// One root per point; in each round the same death, later or earlier.
function eachRound(name, point, round) {
  test(`${name} at ${point}, seed ${kSeed}`, async () => {
    const root = await Root.make(randomFrom(kSeed));
    for (let n = 0; n < Math.ceil(kRounds / 3); ++n) await round(root, `${n}`);
    await root.end(root.survivor);
  });
}

/// How many points of its own kind the victim passes first.
const occurrence = (root) => 1 + below(root.random, 12);

// Side by side, for most of each is a wait for the survivor to look around.
describe('one dies, one lives on', { concurrency: 8 }, () => {
  test(`${kRounds} SIGKILLs at any moment, seed ${kSeed}`, async () => {
    const root = await Root.make(randomFrom(kSeed));
    let dead;
    let living = [root.survivor, await root.another()];
    for (let round = 0; round < kRounds; ++round) {
      const stopBoth = root.load(`both${round}`, living, 6);
      await sleep(100 + root.random() * 700);
      if (root.random() < 0.5) living.reverse();
      [dead, ...living] = living;
      await dead.kill();
      const unanswered = await stopBoth();

      const stopLoad = root.load(`alone${round}`, living);
      await root.settled(...living);
      assert.deepEqual(await stopLoad(), [], 'the survivor answered every client');
      const seen = await root.expectRight(living[0]);
      await root.retry(unanswered, living[0], seen);
      await root.expectRight(living[0]);
      living.push(await dead.restart());
      for (const server of living) await root.expectRight(server);
    }
    await root.end(...living);
  });

  for (const point of [...kBeforeClaim, ...kFromClaim]) {
    eachRound('the winner of an id dies', point, async (root, round) => {
      const { survivor } = root;
      const victim = await root.another({ STRATA_CRASH_AT: `${point}#${occurrence(root)}` });
      const stopLoad = root.load(`load${round}`, [survivor]);
      let sent;
      for (let n = 0, answer; ; ++n) {
        sent = root.batch(`victim${round}-${n}`);
        answer = await root.send(victim, sent);
        if (answer === undefined) break;
        assert.equal(answer.status, 200, answer.text);
      }
      await diedAtItsPoint(victim);
      const lost = [{ ...sent, claimed: kFromClaim.includes(point) }];
      await aloneThenTogether(root, stopLoad, { victims: [victim], lost });
    });
  }

  for (const point of kReplay) {
    // The loser of a claim whose winner died before it: it finishes for that one, and dies too.
    eachRound('the finishing loser of an id dies', point, async (root, round) => {
      const { survivor } = root;
      const winner = await root.another({ STRATA_CRASH_AT: 'publish:after_claim' });
      const loser = await root.another({ STRATA_CRASH_AT: point });
      const stopLoad = root.load(`load${round}`, [survivor]);
      const sent = root.batch(`victim${round}`);
      assert.equal(await root.send(winner, sent), undefined);
      await diedAtItsPoint(winner);
      assert.equal(await root.send(loser, sent), undefined);
      await diedAtItsPoint(loser);
      const lost = [{ ...sent, claimed: true }];
      await aloneThenTogether(root, stopLoad, { victims: [loser, winner], lost });
    });
  }

  for (const point of kRace) {
    eachRound('the loser of a race between the two dies', point, async (root, round) => {
      const { survivor } = root;
      const victim = await root.another({ STRATA_CRASH_AT: point });
      const stopLoad = root.load(`load${round}`, [survivor]);
      let lost;
      for (let n = 0; lost === undefined && n < 200; ++n) {
        const sent = root.batch(`race${round}-${n}`);
        const answers = await Promise.all([victim, survivor, victim, survivor].map(
            (server) => root.send(server, sent)));
        if (answers.includes(undefined)) lost = [{ ...sent, claimed: true }];
        else assert.equal(answers.filter(({ json }) => !json.replayed).length, 1);
      }
      await diedAtItsPoint(victim);
      await aloneThenTogether(root, stopLoad, { victims: [victim], lost });
    });
  }

  for (const point of kRecovery) {
    // The survivor is held while the second process takes over, which is its death.
    eachRound('who takes over dies', point, async (root, round) => {
      const { survivor } = root;
      const claimed = await root.another({ STRATA_CRASH_AT: 'publish:after_claim#3' });
      const second = await root.another({ STRATA_CRASH_AT: point });
      const stopLoad = root.load(`load${round}`, [survivor]);
      for (const n of [1, 2]) {
        const answer = await root.send(claimed, root.batch(`victim${round}-${n}`));
        assert.equal(answer?.status, 200, answer?.text);
      }
      const sent = root.batch(`victim${round}-3`);
      survivor.child.kill('SIGSTOP');
      try {
        assert.equal(await root.send(claimed, sent), undefined);
        await diedAtItsPoint(claimed);
        await diedAtItsPoint(second);
      } finally {
        survivor.child.kill('SIGCONT');
      }
      const lost = [{ ...sent, claimed: true }];
      await aloneThenTogether(root, stopLoad, { victims: [second, claimed], lost });
    });
  }
});
