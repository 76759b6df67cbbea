// A disk that cannot take what the kernel writes back, under the real server: EIO comes from below
// the file system, so that what a failed write leaves in the page cache, in the journal and in the
// answers of fsync is the kernel's own. No 200 rests on it: the disk is mounted anew afterwards,
// and everything acknowledged is there, byte for byte.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { History, sendLogged } from '../e2e/checker.mjs';
import { count } from '../e2e/given.mjs';
import { freshFolder, missing, program, start, until } from '../e2e/harness.mjs';
import { verifyRoot } from '../e2e/independent.mjs';
import { seenFromOutside } from './disks.mjs';
import { batch, expectNothingWrong, kKb, kStream } from './one_stream.mjs';
import { diskObstacle, programs, report, skipFor } from './rig.mjs';
import { inject } from './strace.mjs';

const kDiskBytes = 512 * 1024 * 1024;
const kRounds = count('STRATA_WRITE_BACKS', 2);
/// More than any work writes: the disk takes nothing until it is mended.
const kForGood = 100_000;

const skip = skipFor(diskObstacle(), 'failing write-back', { suite: 'power', key: 'skipped' }) ||
    missing('/usr/bin/strace');

const disks = new Set();
process.on('exit', () => { for (const recfs of disks) recfs.kill('SIGKILL'); });

/// recfs in a mount namespace of its own, which outlives the server's: whoever unmounts the disk
/// waits for recfs, so recfs must not be the one.
async function playDisk(folder) {
  const at = (name) => join(folder, name);
  for (const name of ['fuse', 'mount']) mkdirSync(at(name));
  for (const name of ['disk', 'faults']) writeFileSync(at(name), '');
  truncateSync(at('disk'), kDiskBytes);
  assert.equal(spawnSync('mkfs.ext4', ['-q', '-F', at('disk')]).status, 0);
  const recfs = spawn('setpriv', [
    '--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--propagation', 'private',
    join(programs, 'recfs'), at('disk'), '-', at('fuse'), at('faults'),
  ], { stdio: 'ignore' });
  disks.add(recfs);
  await until(() => existsSync(`/proc/${recfs.pid}/root${at('fuse/disk')}`), 'recfs');
  return recfs;
}
/// A server whose root lies on ext4 on a disk of recfs's. Started again it mounts the disk anew,
/// once the last of its processes has let go of it. `faults` is where recfs takes its faults from.
async function startOnFailingDisk() {
  const folder = freshFolder();
  const recfs = await playDisk(folder);
  const wrapper = join(folder, 'strata');
  writeFileSync(wrapper, [
    '#!/bin/sh', 'export FOLDER PROGRAM', `FOLDER='${folder}' PROGRAM='${program}'`,
    `exec nsenter --mount=/proc/${recfs.pid}/ns/mnt ` +
        'unshare --mount --propagation private sh -c \'' +
        'while grep -qs "$FOLDER" /sys/block/loop*/loop/backing_file; do sleep 0.01; done; ' +
        'mount -t ext4 -o loop,errors=continue "$FOLDER/fuse/disk" "$FOLDER/mount" && ' +
        'exec "$PROGRAM" "$@"\' strata "$@"', '',
  ].join('\n'), { mode: 0o755 });
  const server = await start({ data: join(folder, 'mount/root'), program: wrapper });
  await server.createKb(kKb);
  await server.createReceiver(kKb, kStream);
  return { server, faults: join(folder, 'faults'), close: () => end(server, recfs) };
}

/// Both, in the order in which they hold on to each other.
async function end(server, recfs) {
  await server.stop();
  const ended = new Promise((resolve) => { recfs.on('close', resolve); });
  recfs.kill('SIGTERM');
  await ended;
  disks.delete(recfs);
}

const left = (faults) => statSync(faults).size;

/// Sent again it is a 200, at once or once the server was started again, over a disk that is well.
async function expectRecovered(server, history, sent) {
  const again = await sendLogged(history, server, sent);
  if (again?.status === 200) return;
  assert.equal(again?.status, 503, again?.text);
  await server.restart();
  const last = await sendLogged(history, server, sent);
  assert.equal(last?.status, 200, last?.text);
}

/// On the disk itself: what is looked at was read anew.
async function expectRight(server, history) {
  await server.restart();
  await expectNothingWrong(server, history);
  const { problems } = await verifyRoot(seenFromOutside(server, server.data));
  assert.deepEqual(problems, []);
}

/// `f` fails what begins a Parquet file, `a` everything, the journal too (recfs.cpp).
const kFaults = [
  { key: 'once', what: 'a batch\'s file, once', faults: 'f', statuses: [200] },
  { key: 'file', what: 'a batch\'s file, until it is mended', faults: 'f'.repeat(kForGood),
    statuses: [503] },
  { key: 'all', what: 'anything, until it is mended', faults: 'a'.repeat(kForGood),
    statuses: [503] },
];
for (const { key, what, faults: fault, statuses } of kFaults) {
  test(`EIO when the kernel writes back ${what}`, { skip }, async () => {
    const { server, faults, close } = await startOnFailingDisk();
    const history = new History();
    await sendLogged(history, server, batch('first'));
    for (let round = 0; round < kRounds; ++round) {
      const sent = batch(`b${round}`);
      writeFileSync(faults, fault);
      const answer = await sendLogged(history, server, sent);
      assert.ok(left(faults) < fault.length, 'the disk failed');
      writeFileSync(faults, '');
      assert.ok(statuses.includes(answer?.status), `${answer?.status} ${answer?.text}`);
      await expectRecovered(server, history, sent);
      await expectRight(server, history);
    }
    await close();
    report({ suite: 'write-back', key, fault: `EIO when the kernel writes back ${what}`,
             states: kRounds, wrong: 0 });
  });
}

test('EIO before anybody asks: the kernel writes back by itself, then comes fsync', { skip },
     async () => {
  const { server, faults, close } = await startOnFailingDisk();
  const history = new History();
  await sendLogged(history, server, batch('first'));
  for (let round = 0; round < kRounds; ++round) {
    const sent = batch(`b${round}`);
    writeFileSync(faults, 'f');
    const slow = await inject(server.pid, 'fsync', 'delay_enter=500000');
    const answered = sendLogged(history, server, sent);
    let answer;
    answered.then((one) => { answer = one; });
    await until(async () => {
      const flush = spawn('sync', ['-f', seenFromOutside(server, server.data)]);
      await new Promise((resolve) => { flush.on('close', resolve); });
      return left(faults) === 0;
    }, 'a write-back');
    assert.equal(answer, undefined, 'it failed before the answer');
    await answered;
    await slow.detach();
    assert.equal(answer?.status, 200, answer?.text);  // out of memory, into a new file
    await expectRight(server, history);
  }
  await close();
  report({ suite: 'write-back', key: 'before', states: kRounds, wrong: 0,
           fault: 'EIO when the kernel writes back before fsync is called' });
});
