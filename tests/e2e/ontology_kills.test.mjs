// Applying ontology with the server killed, or PostgreSQL, at each step: the old version answers,
// the next run completes.
import assert from 'node:assert/strict';
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isStopped } from './ddl_worker.mjs';
import { acquisitions, kKillPointExit, run, until } from './harness.mjs';
import { verifyRoot } from './independent.mjs';
import { kOntologyAfter, kOntologyBefore, kOntologyRefresh } from './kill_points.mjs';
import {
  apply, kKb, kSix, ontology, post, postgres, serveStream, send, skip, versions, views,
} from './ontology_server.mjs';
import { compensation } from './payroll.mjs';

const kStream = 'compensation';
const kLease = { STRATA_JOB_LEASE_S: '1' };

const points = (steps) => Object.entries(steps).flatMap(
    ([step, names]) => names.map((point) => [step, point]));
const count = async (server) => Number((await server.rows(
    kKb, 'SELECT count(*) FROM ontology.pay_fact'))[0][0]);
/// What the catalog says there is.
const told = async (server) => (await ontology(server)).streams[0].rows;
/// Once the lease of the process that had the last job has run out.
async function applyWhenFree(server) {
  let answer;
  await until(async () => {
    answer = await post(server, kStream);
    return answer.status === 202;
  }, 'the lease of the dead server');
  const done = await server.jobEnd(kKb, answer);
  assert.equal(done.state, 'done', done.reason);
  return done.result;
}
/// What every version has alike: a dimension, and the rows of another stream.
const others = async (server) => [
  await server.rows(kKb, 'SELECT employee_id, name FROM ontology.employee ORDER BY ALL'),
  await server.rows(
      kKb, 'SELECT reading_id, site, celsius FROM ontology.reading_fact ORDER BY reading_id'),
];
/// Rows with one column more: another model.
const withColumn = (name) => compensation().map((row) => ({ ...row, [name]: 'x' }));

/// The run after a failed one, from `old` on: it takes the lock once, or, where nothing was left to
/// be done, not at all.
async function completes(server, { rows, version, locks }) {
  const before = acquisitions(await server.metrics(), kStream, 'ontology');
  const { version: made } = await applyWhenFree(server);
  assert.equal(made, version);
  assert.equal(acquisitions(await server.metrics(), kStream, 'ontology') - before, locks);
  assert.deepEqual([await count(server), await told(server)], [rows, rows]);
  const listed = await versions(server);
  assert.equal(listed[0], `${version} active`);
  assert.deepEqual(listed.slice(1).filter((one) => !one.endsWith(' retired')), []);
}

/// What killed processes staged goes after an hour; all else is whole.
async function leavesNothing(server) {
  const staging = join(server.kbFolder(kKb), 'staging');
  for (const name of readdirSync(staging)) utimesSync(join(staging, name), 0, 0);
  await server.restart(kLease);
  assert.deepEqual(readdirSync(staging), []);
  const verified = await run(['verify', kKb, '--url', server.url]);
  assert.equal(verified.code, 0, verified.out + verified.log);
  assert.deepEqual((await verifyRoot(server.data)).problems, []);
}

test('the server is killed at each step', { skip }, async (t) => {
  const server = await serveStream(kStream, compensation());
  await server.createReceiver(kKb, 'sites');
  const readings = Array.from({ length: 60 }, (_, n) => [`R${100 + n}`, `S${n % 5}`, `${n}.5`]);
  await send(server, 'sites', readings.map(
      ([reading_id, site, celsius]) => ({ reading_id, site, celsius })), 'r');
  await apply(server, 'sites');
  await apply(server, kStream);
  const people = new Map(compensation().map((row) => [row.employee_id, row.employee_name]));
  const sweep = async (point, isThere) => {
    const model = await ontology(server);
    const rows = await count(server);
    await server.restart({ ...kLease, STRATA_CRASH_AT: point });
    await send(server, kStream, withColumn(point.replace(/.*:/, '')), point.slice(9));
    assert.equal((await post(server, kStream)).status, 202);
    assert.equal((await server.exited()).code, kKillPointExit);
    await server.begin(kLease);
    assert.equal(await count(server), isThere ? rows + 60 : rows);
    assert.deepEqual(await others(server), [[...people], readings]);
    if (isThere) {
      assert.equal((await ontology(server)).version, model.version + 1);
    } else {
      assert.deepEqual(await ontology(server), model);
    }
    // The number whose tables a killed job wrote is its own for ever.
    const isTaken = !isThere && /tables|pending/.test(point);
    await completes(server, { rows: rows + 60, version: model.version + (isTaken ? 2 : 1),
                              locks: isThere ? 0 : 1 });
    assert.deepEqual(await others(server), [[...people], readings]);
  };
  for (const [step, point] of points(kOntologyBefore)) {
    await t.test(`${step}, ${point}: the old version answers, the next run completes`,
                 () => sweep(point, false));
  }
  for (const [step, point] of points(kOntologyAfter)) {
    await t.test(`${step}, ${point}: the new version answers, nothing is left to be done`,
                 () => sweep(point, true));
  }
  await leavesNothing(server);
});

const rawCount = (server) => server.rows(
    kKb, `SELECT count(*) FROM raw_extracted.stream_${kStream}`);
/// Of a first application that came to nothing there are the raw rows, and no model; the next one
/// completes as the number after it.
async function thereIsNoModel(server) {
  assert.deepEqual(await rawCount(server), [[60]]);
  const { version, object_types: types, links, streams } = await ontology(server);
  assert.deepEqual([version, types, links, streams], [null, [], [], []]);
  assert.deepEqual([await views(server), await versions(server)], [[], []]);
}

test('the server is killed in the first application: there is no model, the next run completes',
     { skip }, async () => {
  const server = await serveStream(kStream, compensation(),
                                   { env: { STRATA_CRASH_AT: 'ontology:after_pending' } });
  assert.equal((await post(server, kStream)).status, 202);
  assert.equal((await server.exited()).code, kKillPointExit);
  await server.begin(kLease);
  await thereIsNoModel(server);
  await completes(server, { rows: 60, version: 2, locks: 1 });
  assert.deepEqual(await views(server), kSix);
  await leavesNothing(server);
});

test('PostgreSQL is killed in the first application: there is no model, the next run completes',
     { skip }, async () => {
  const server = await serveStream(kStream, compensation(),
                                   { env: { STRATA_STOP_AT: 'ontology:after_tables' } });
  const { json: { job } } = await post(server, kStream);
  await until(() => isStopped(server.pid), 'the stop');
  await postgres.stop();
  process.kill(server.pid, 'SIGCONT');
  await until(() => server.log.includes(`job ${job} (ontology)`), 'the failure');
  assert.deepEqual(await rawCount(server), [[60]]);
  await postgres.start();
  await until(async () => (await server.job(kKb, job)).state === 'failed', 'the end of the job');
  await thereIsNoModel(server);
  await completes(server, { rows: 60, version: 2, locks: 1 });
  assert.deepEqual(await views(server), kSix);
  await leavesNothing(server);
});

test('PostgreSQL is killed at each step', { skip }, async (t) => {
  const server = await serveStream(kStream, compensation());
  await apply(server, kStream);
  const sweep = async (point, isNew, end) => {
    const model = await ontology(server);
    const rows = await count(server);
    await server.restart({ ...kLease, STRATA_STOP_AT: point });
    await send(server, kStream, withColumn(point.replace(/.*:/, '')), point.slice(9));
    const { json: { job } } = await post(server, kStream);
    await until(() => isStopped(server.pid), 'the stop');
    await postgres.stop();
    process.kill(server.pid, 'SIGCONT');
    if (end === 'failed') {
      await until(() => server.log.includes(`job ${job} (ontology)`), 'the failure');
    }
    assert.equal(await count(server), isNew ? rows + 60 : rows);
    await postgres.start();
    await until(async () => (await server.job(kKb, job)).state === end, 'the end of the job');
    if (isNew) {
      assert.equal((await ontology(server)).version, model.version + 1);
    } else {
      assert.deepEqual(await ontology(server), model);
    }
    await completes(server, { rows: rows + 60, version: model.version + (isNew ? 1 : 2),
                              locks: isNew ? 0 : 1 });
  };
  // A job asks PostgreSQL when its tables are written: before that it does not know. From its row
  // on a version needs it again only when its views are there.
  const isThere = (point) => /pending|publish|activate/.test(point);
  for (const [step, point] of [...points(kOntologyBefore), ...points(kOntologyAfter)]) {
    const end = point === 'ontology:after_activate' ? 'done' : 'failed';
    const which = isThere(point) ? 'new' : 'old';
    await t.test(`${step}, ${point}: the ${which} version answers, the next run completes`,
                 () => sweep(point, isThere(point), end));
  }
  await leavesNothing(server);
});

test('the server is killed between a refresh of the version and its views', { skip }, async () => {
  const server = await serveStream(kStream, compensation());
  await apply(server, kStream);
  const { object_types: types } = await ontology(server);
  for (const [n, point] of [...kOntologyRefresh, ...kOntologyRefresh].entries()) {
    const rows = 60 + 60 * n;
    await server.restart({ ...kLease, STRATA_CRASH_AT: point });
    await send(server, kStream, compensation(), `refresh${n}`);
    assert.equal((await post(server, kStream)).status, 202);
    assert.equal((await server.exited()).code, kKillPointExit);
    await server.begin(kLease);
    assert.equal(await count(server), rows);
    // Asked for, both are the same again; in the second turn the next run sees to it.
    if (n === 0) {
      assert.deepEqual([await told(server), await count(server)], [rows + 60, rows + 60]);
    }
    await completes(server, { rows: rows + 60, version: 1, locks: n });
    assert.deepEqual((await ontology(server)).object_types, types);
  }
  await leavesNothing(server);
});
