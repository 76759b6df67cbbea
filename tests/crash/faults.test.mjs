// A disk whose calls fail or are slow, and a process without descriptors, under the real server:
// no 200 that is not durable, 507 or 503 with Retry-After else, and the first POST after the fault
// is gone lands; where the disk was in doubt (DEGRADED), after a restart.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { History, sendLogged } from '../e2e/checker.mjs';
import { missing, startWith } from '../e2e/harness.mjs';
import { verifyRoot } from '../e2e/independent.mjs';
import { batch, expectNothingWrong, kKb, kStream } from './one_stream.mjs';
import { report } from './rig.mjs';
import { inject } from './strace.mjs';

const skip = missing('/usr/bin/strace');

/// What a producer is told that has to come again.
function expectComeAgain(answer, statuses) {
  assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
  assert.equal(answer.headers['retry-after'], '1');
  assert.doesNotMatch(answer.text, /\/tmp\//, 'no path of the server');
}

/// The fault is gone: the same id lands at once, or after a restart if the disk was in doubt.
async function expectRecovered(server, history, sent) {
  const again = await sendLogged(history, server, sent);
  if (again?.status !== 200) {
    assert.equal(again.json.code, 'degraded', again.text);
    const ready = await server.get('/readyz');
    assert.equal(ready.status, 503);
    assert.match(ready.text, /Ingest is stopped/);
    await expectNothingWrong(server, history);  // rows stay readable
    await server.restart();
    const last = await sendLogged(history, server, sent);
    assert.equal(last?.status, 200, last?.text);
  }
}

/// Which answers a failing call may have; 200 only where the call was not needed for it. What is
/// `optional` replaces files that can be written anew later: no 200 needs it.
const kFaults = [
  { call: 'fsync', error: 'EIO', statuses: [503] },
  { call: 'fsync', error: 'ENOSPC', statuses: [503, 507] },
  { call: 'pwrite64', error: 'EIO', statuses: [503] },
  { call: 'pwrite64', error: 'ENOSPC', statuses: [507] },
  { call: 'linkat', error: 'EIO', statuses: [503] },
  { call: 'linkat', error: 'ENOSPC', statuses: [507] },
  { call: 'renameat2', error: 'EIO', statuses: [503] },
  { call: 'renameat2', error: 'ENOSPC', statuses: [507] },
  { call: 'renameat', error: 'EIO', statuses: [503], optional: true },
  { call: 'renameat', error: 'ENOSPC', statuses: [507], optional: true },
  { call: 'openat', error: 'EMFILE', statuses: [503] },
];
/// Calls of other work that goes on meanwhile, and a staged file, which is written anew.
const kNotNeeded = /numbers|\/_tmp\/[^/]+\/[^/]+>/;
const kTimesMax = 6;

for (const { call, error, statuses, optional } of kFaults) {
  test(`${call} answers ${error}`, { skip }, async () => {
    const server = await startWith(kKb, [kStream]);
    const history = new History();
    await sendLogged(history, server, batch('first'));
    let fired = 0;
    let posts = 0;  // those that a call of theirs failed
    // Each of the first calls alone, then all of them; with a new column and without.
    for (let n = 1; n <= kTimesMax + 1; ++n) {
      for (const columns of [{}, { [`c${n}`]: 'new' }]) {
        const sent = batch(`${n}-${Object.keys(columns).length}`, columns);
        const when = n <= kTimesMax ? `:when=${n}` : '';
        const fault = await inject(server.pid, call, `error=${error}${when}`);
        const answer = await sendLogged(history, server, sent);
        const hit = await fault.detach();
        fired += hit.length;
        if (hit.length > 0) ++posts;
        assert.ok(answer !== undefined, 'the server answers');
        if (answer.status !== 200) expectComeAgain(answer, statuses);
        if (answer.status === 200 && call === 'fsync') {
          assert.deepEqual(hit.filter((line) => !kNotNeeded.test(line)), []);
        }
        if (n > kTimesMax && !optional) assert.notEqual(answer.status, 200, 'it needs this call');
        await expectRecovered(server, history, sent);
      }
    }
    assert.ok(fired > (optional ? 0 : 2), 'the fault was there');
    await expectNothingWrong(server, history);
    assert.deepEqual((await verifyRoot(server.data)).problems, []);
    await server.stop();
    report({ suite: 'fault', key: `${call}-${error}`, fault: `${call} answers ${error}`,
             states: posts, also: { 'calls hit': fired }, wrong: 0 });
  });
}

test('fsync takes a fifth of a second, and sixty clients come at once', { skip }, async () => {
  const server = await startWith(kKb, [kStream]);
  const history = new History();
  await sendLogged(history, server, batch('first'));
  const slow = await inject(server.pid, 'fsync', 'delay_enter=200000');
  const all = Array.from({ length: 60 }, (_, n) => batch(`slow-${n}`));
  const answers = await Promise.all(all.map((sent) => sendLogged(history, server, sent)));
  const hit = await slow.detach();
  assert.ok(hit.length > 60, 'the disk was slow');
  for (const [n, answer] of answers.entries()) {
    assert.ok(answer !== undefined, 'the server answers');
    if (answer.status !== 200) expectComeAgain(answer, [503]);
    const again = await sendLogged(history, server, all[n]);
    assert.equal(again?.status, 200, again?.text);
  }
  await expectNothingWrong(server, history);
  await server.stop();
  report({ suite: 'fault', key: 'slow', fault: 'a slow disk', states: 60, wrong: 0 });
});

test('no descriptor is left', async () => {
  const server = await startWith(kKb, [kStream]);
  const history = new History();
  await sendLogged(history, server, batch('first'));
  await expectNothingWrong(server, history);
  const open = readdirSync(`/proc/${server.pid}/fd`).length;
  const limit = (soft) => spawnSync('prlimit', ['--pid', `${server.pid}`, `--nofile=${soft}:`]);
  const limits = readFileSync(`/proc/${server.pid}/limits`, 'utf8');
  const before = /Max open files +(\d+)/.exec(limits)[1];
  assert.equal(limit(open).status, 0);
  const sent = batch('none-left', { c: 'new' });
  const answer = await sendLogged(history, server, sent);
  assert.ok(answer !== undefined, 'the server answers');
  expectComeAgain(answer, [503]);
  assert.equal(limit(before).status, 0);
  await expectRecovered(server, history, sent);
  await expectNothingWrong(server, history);
  await server.stop();
  report({ suite: 'fault', key: 'EMFILE', fault: 'no descriptor is left', states: 1, wrong: 0 });
});
