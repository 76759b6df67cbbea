// A stream of many files, with many leftovers in its staging folder: how long a server takes from
// its start to the first 200 of /readyz, after a clean stop and after SIGKILL, is shown; that
// nothing is left and the numbers are right again is asserted. STRATA_RESTART_FILES,
// STRATA_RESTART_LEFTOVERS: more of them (`make acceptance`).
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { count } from './given.mjs';
import { startWith, until } from './harness.mjs';
import { batchFiles, readParquet } from './independent.mjs';

const kKb = 'demo';
const kStream = 's';
const kFiles = count('STRATA_RESTART_FILES', 200);
const kLeftovers = count('STRATA_RESTART_LEFTOVERS', 60);
const kClients = 32;
/// As many as one process may have been at between claim and name: its commit threads.
const kClaimed = 8;

async function land(server, first, end) {
  let next = first;
  await Promise.all(Array.from({ length: kClients }, async () => {
    while (next < end) {
      const n = next++;
      await server.land(kKb, kStream, [{ n: `${n}`, text: `row of file ${n}` }], `b${n}`);
    }
  }));
}

/// What a killed process may have left in its staging folder: files cut short, empty ones, whole
/// ones that are not claimed, and some that are, without their name in data/.
async function leave(server, leftovers) {
  const stream = server.streamFolder(kKb, kStream);
  const staging = join(stream, '_tmp', readdirSync(join(stream, '_tmp'))[0]);
  const files = batchFiles(stream);
  const bytes = readFileSync(files[0]);
  for (let n = 0; n < leftovers - kClaimed; ++n) {
    const kept = [0, bytes.length / 2, bytes.length][n % 3];
    writeFileSync(join(staging, `left-${n}.parquet`), bytes.subarray(0, kept));
  }
  for (let n = kFiles - kClaimed; n < kFiles; ++n) {
    const path = join(stream, 'data', `b${n}.parquet`);
    const { keyValues } = await readParquet(path);
    renameSync(path, join(stream, '_tmp', keyValues.get('attempt')));
  }
}

/// Milliseconds from the start of the process until it says that it is ready.
async function startAndMeasure(server) {
  const began = performance.now();
  await server.restart();
  await until(async () => (await server.get('/readyz')).status === 200, 'ready');
  return Math.round(performance.now() - began);
}

async function expectWhole(server, files) {
  await until(async () => (await server.receiver(kKb, kStream)).files === files, 'the numbers');
  assert.equal((await server.receiver(kKb, kStream)).rows, files);
  const stream = server.streamFolder(kKb, kStream);
  await until(() => readdirSync(join(stream, '_tmp')).length === 1, 'nothing left but its own');
  assert.equal(batchFiles(stream).length, files);
}

test(`${kFiles} files and ${kLeftovers} leftovers`, async () => {
  const server = await startWith(kKb, [kStream]);
  await land(server, 0, kFiles - kClaimed);
  await server.stop();
  const clean = await startAndMeasure(server);
  await expectWhole(server, kFiles - kClaimed);
  await land(server, kFiles - kClaimed, kFiles);
  await server.kill();
  await leave(server, kLeftovers);
  const unclean = await startAndMeasure(server);
  await expectWhole(server, kFiles);
  await server.stop();
  console.log(`ready with ${kFiles} files ${clean} ms after a clean stop, ${unclean} ms after ` +
              `SIGKILL with ${kLeftovers} leftovers`);
});
