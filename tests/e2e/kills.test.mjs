// Random SIGKILLs of two processes on one root under clients, then the checker.
// STRATA_KILL_ROUNDS: more of them by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import { start, startWith, until } from './harness.mjs';
import { countStream, verifyRoot } from './independent.mjs';
import { randomFrom } from './random.mjs';

const kKb = 'demo';
const kRounds = Number(process.env.STRATA_KILL_ROUNDS ?? 12);
const kSeed = Number(process.env.STRATA_SEED ?? Date.now() % 2 ** 31);
const kClients = 6;

test(`${kRounds} rounds of kills, seed ${kSeed}`, async () => {
  const random = randomFrom(kSeed);
  const servers = [await startWith(kKb, ['s'])];
  servers.push(await start({ data: servers[0].data }));
  const history = new History();
  let stopped = false;
  let next = 0;
  const client = async (n) => {
    while (!stopped) {
      const id = `c${n}-${next++}`;
      const rows = [1, 2, 3].map((k) => ({ k: `${k}`, id, [`column${next % 40}`]: 'x' }));
      // The same id to both, and again until somebody answers: a retry is part of the contract.
      for (let attempt = 0; !stopped && attempt < 50; ++attempt) {
        const answer = await sendLogged(history, servers[(n + attempt) % 2],
                                        { kb: kKb, stream: 's', id, rows });
        if (answer?.status === 200 && attempt > 0) break;
        if (answer === undefined) await sleep(20);
      }
      // The checker reads all of it in one query, which holds every file's footer in memory.
      await sleep(kRounds);
    }
  };
  const clients = Array.from({ length: kClients }, (_, n) => client(n));
  for (let round = 0; round < kRounds; ++round) {
    const victim = servers[Math.floor(random() * 2)];
    await sleep(50 + random() * 400);
    await victim.kill();
    await sleep(random() * 100);
    await victim.restart();
  }
  stopped = true;
  await Promise.all(clients);

  const counted = await countStream(servers[0].streamFolder(kKb, 's'));
  for (const server of servers) {
    assert.deepEqual(check(history, await readView(server, kKb, 's')), kNothingWrong);
    await until(async () => (await server.receiver(kKb, 's')).files === counted.files,
                'numbers that include the other process');
    const { files, rows, bytes } = await server.receiver(kKb, 's');
    assert.deepEqual({ files, rows, bytes }, counted);
  }
  assert.ok(history.outcomes('ok').length > kRounds, 'batches landed');
  assert.equal((await servers[0].metrics())[`strata_generation{kb="${kKb}"}`], 2);
  assert.deepEqual((await verifyRoot(servers[0].data)).problems, []);
});
