// The real server is killed at the system calls of a POST, of a start that has something to
// recover, and of a generation; whatever it was, it starts again, everything acknowledged is there,
// and what was not can be sent again. The quick form picks some calls by its seed;
// STRATA_KILL_CALLS=0 is every one, and on until none fires.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { check, History, kNothingWrong, readView, sendLogged } from '../e2e/checker.mjs';
import { count, kSeed } from '../e2e/given.mjs';
import { freshFolder, missing, program, start, startWith } from '../e2e/harness.mjs';
import { verifyRoot } from '../e2e/independent.mjs';
import { randomFrom } from '../e2e/random.mjs';
import { report } from './rig.mjs';
import { countCalls, countCommand, inject, runInjected, sweep } from './strace.mjs';

const kKb = 'demo';
const kStream = 's';
const skip = missing('/usr/bin/strace');
/// How many calls of each kind of work are death.
const kMost = count('STRATA_KILL_CALLS', 8);
const batch = (id, columns) => ({
  kb: kKb, stream: kStream, id,
  rows: [1, 2, 3].map((n) => ({ n: `${n}`, id, ...columns })),
});

async function expectRight(server, history) {
  assert.deepEqual(check(history, await readView(server, kKb, kStream)), kNothingWrong);
}

/// Sends one batch while the n-th `call` of any thread is death. Answers whether it was.
async function dieAt(server, history, sent, call, n) {
  const trap = await inject(server.pid, call, `signal=KILL:when=${n}`);
  const answer = await sendLogged(history, server, sent);
  if (answer !== undefined) {
    assert.equal(answer.status, 200, answer.text);
    await trap.detach();
    return false;
  }
  const { signal } = await server.exited();
  assert.equal(signal, 'SIGKILL');
  await trap.detach();
  return true;
}

const kPosts = {
  'a POST': () => ({}),
  'a POST with a new column': (n) => ({ [`c${n}`]: 'new' }),
};
for (const [what, columns] of Object.entries(kPosts)) {
  test(`killed at the calls of ${what}, seed ${kSeed}`, { skip }, async () => {
    const server = await startWith(kKb, [kStream]);
    const history = new History();
    await sendLogged(history, server, batch('first', {}));
    const counts = await countCalls(
        server.pid, () => sendLogged(history, server, batch('counted', columns('counted'))));
    const fired = await sweep(counts, kMost, randomFrom(kSeed), async (call, n) => {
      const sent = batch(`p-${call}-${n}`, columns(`${call}${n}`));
      if (!await dieAt(server, history, sent, call, n)) return false;
      await server.restart();
      await expectRight(server, history);
      const again = await sendLogged(history, server, sent);
      assert.equal(again?.status, 200, again?.text);
      return true;
    });
    assert.ok(fired > 1, 'some calls were death');
    await expectRight(server, history);
    assert.deepEqual((await verifyRoot(server.data)).problems, []);
    await server.stop();
    report({ suite: 'kill', key: what.replaceAll(' ', '-'),
             fault: `SIGKILL at the system calls of ${what}`, states: fired, wrong: 0 });
  });
}

/// A root whose process died between claim and name, and one batch before that.
async function leftovers(history) {
  const server = await startWith(kKb, [kStream]);
  await sendLogged(history, server, batch('first', {}));
  await server.restart({ STRATA_CRASH_AT: 'publish:after_claim' });
  assert.equal(await sendLogged(history, server, batch('claimed', {})), undefined);
  await server.exited();
  return server.data;
}

test(`killed at the calls of a start that recovers, seed ${kSeed}`, { skip }, async () => {
  const history = new History();
  const template = await leftovers(history);
  const copy = () => {
    const data = join(freshFolder(), 'root');
    cpSync(template, data, { recursive: true, verbatimSymlinks: true });
    return data;
  };
  const serve = (data) => [program, 'serve', '--listen', '127.0.0.1:0', '--data', data];
  const counts = await countCommand(serve(copy()), /listening on/);
  const fired = await sweep(counts, kMost, randomFrom(kSeed), async (call, n) => {
    const data = copy();
    const { reached } = await runInjected(serve(data), call, `signal=KILL:when=${n}`,
                                          /listening on/);
    const server = await start({ data });
    await expectRight(server, history);
    const again = await server.land(kKb, kStream, batch('claimed', {}).rows, 'claimed');
    assert.equal(again.replayed, true, 'recovery had finished what was claimed');
    await server.stop();
    return !reached;
  });
  assert.ok(fired > 1, 'some calls were death');
  report({ suite: 'kill', key: 'start', states: fired, wrong: 0,
           fault: 'SIGKILL at the system calls of a start that recovers' });
});

test(`killed at the calls of a generation, seed ${kSeed}`, { skip }, async () => {
  const publish = process.env.STRATA_PUBLISH_VIEW;
  const server = await startWith(kKb, [kStream]);
  const history = new History();
  await sendLogged(history, server, batch('first', {}));
  await expectRight(server, history);
  const view = (name) => [publish, program, server.kbFolder(kKb), name];
  const counts = await countCommand(view('counted'));
  const fired = await sweep(counts, kMost, randomFrom(kSeed), async (call, n) => {
    // The publisher dies, or the worker that runs its DDL.
    const { code } = await runInjected(view(`view_${call}_${n}`), call, `signal=KILL:when=${n}`);
    await expectRight(server, history);
    const { status } = await sendLogged(history, server, batch(`g-${call}-${n}`, {}));
    assert.equal(status, 200);
    return code !== 0;
  });
  assert.ok(fired > 1, 'some calls were death');
  await server.restart();
  await expectRight(server, history);
  await server.stop();
  report({ suite: 'kill', key: 'generation', states: fired, wrong: 0,
           fault: 'SIGKILL at the system calls of a generation' });
});
