// Applying ontology to a stream: the model, its views, what a repetition and what more rows change.
// ontology_kills.test.mjs ends the server and PostgreSQL on the way.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from './checker.mjs';
import { GenerationWatch } from './generations.mjs';
import { acquisitions, freshFolder, run, until } from './harness.mjs';
import { readParquet } from './independent.mjs';
import {
  apply, kBase, kKb, kSix, ontology, post, postgres, send, serve, serveStream, skip, versions,
  views,
} from './ontology_server.mjs';
import { compensation, staff } from './payroll.mjs';

/// A model without its names and ids: kinds, and how many properties of which roles and types.
const structure = ({ object_types: types, links }) => ({
  types: types.map(({ kind, properties }) => ({
    kind, properties: properties.map(({ role, type }) => `${role} ${type}`).sort(),
  })).map((one) => JSON.stringify(one)).sort(),
  links: links.map(({ status }) => status).sort(),
});

/// Every file below a folder, by path, with its digest.
const filesBelow = (folder) => Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .map((path) => [path, sha256(readFileSync(path))]));

test('pay becomes one fact and five dimensions', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  // The view of the raw rows is a generation of its own, which may be later than they.
  const raw = () => server.query(kKb, 'SELECT bonus FROM raw_extracted.stream_compensation');
  await until(async () => (await raw()).json.rows?.length === 60, 'the raw rows');
  const watch = new GenerationWatch(server.kbFolder(kKb));
  const generations = () => {
    watch.look();
    return [watch.newest, watch.numbers.length];
  };
  const [newest, number] = generations();
  const outcome = await apply(server, 'compensation');
  assert.deepEqual(generations(), [newest + 1, number + 1]);
  assert.deepEqual(outcome, { version: 1, unchanged: false, rows: 60, views: outcome.views });
  assert.deepEqual(outcome.views.toSorted(), kSix);
  assert.deepEqual(await views(server), kSix);
  const model = await ontology(server);
  assert.deepEqual(model.object_types.map(({ name }) => name).sort(),
                   ['Department', 'Employee', 'EmploymentType', 'Location', 'PayFact', 'PayGrade']);
  const counts = async (view) => (await server.rows(
      kKb, `SELECT count(*) FROM ontology.${view}`))[0][0];
  assert.deepEqual(await Promise.all(kSix.map(counts)), [5, 20, 3, 4, 60, 4]);
  const answer = await server.query(kKb, `
      SELECT e.name, sum(f.bonus) AS bonus FROM ontology.pay_fact f
      JOIN ontology.employee e USING (employee_id) GROUP BY ALL ORDER BY e.name LIMIT 1`);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.columns.map(({ type }) => type), ['VARCHAR', 'DECIMAL(38,2)']);
  assert.equal(acquisitions(await server.metrics(), 'compensation', 'ontology'), 1);

  // Again: the same, and nothing written; more batches change neither model nor views.
  assert.deepEqual(await apply(server, 'compensation'), { ...outcome, unchanged: true });
  for (let n = 0; n < 100; ++n) {
    await server.land(kKb, 'compensation', compensation().slice(n % 60, n % 60 + 1), `more${n}`);
  }
  assert.deepEqual(await ontology(server), model);
  assert.deepEqual(await versions(server), ['1 active']);
  assert.equal(await counts('pay_fact'), 60);
  assert.equal((await server.get(`${kBase}/jobs`)).json.jobs.length, 2);
  assert.deepEqual(generations(), [newest + 1, number + 1]);

  // Applied to them: other rows, the same model, so the same version.
  const refreshed = await apply(server, 'compensation');
  assert.deepEqual([refreshed.version, refreshed.unchanged, refreshed.rows], [1, false, 160]);
  assert.deepEqual(generations(), [newest + 2, number + 2]);
  assert.equal(await counts('pay_fact'), 160);
  assert.deepEqual((await ontology(server)).object_types, model.object_types);

  const metrics = await server.metrics();
  const jobs = (result) => metrics[`strata_ontology_jobs_total{result="${result}"}`];
  assert.deepEqual(['done', 'unchanged', 'failed', 'cancelled'].map(jobs), [2, 1, 0, 0]);
  const step = (name, what) => metrics[`strata_ontology_step_seconds_${what}{step="${name}"}`];
  const kSteps = ['Snapshot', 'Profile', 'Synthesise', 'Views'];
  assert.deepEqual(kSteps.map((name) => step(name, 'count')), [3, 2, 2, 2]);
  assert.ok(kSteps.every((name) => step(name, 'sum') > 0));
  assert.equal(metrics['strata_ontology_version{kb="demo"}'], 1);
});

test('the views give back every cell that was sent, and each thing once', { skip }, async () => {
  const sent = compensation();
  const server = await serveStream('compensation', sent);
  await apply(server, 'compensation');
  const joined = await server.query(kKb, `
      SELECT e.employee_id, e.name, d.department, l.location, g.pay_grade, t.employment_type,
             f.annual_salary, f.bonus, f.pay_period
      FROM ontology.pay_fact f JOIN ontology.employee e USING (employee_id)
      JOIN ontology.department d USING (department) JOIN ontology.location l USING (location)
      JOIN ontology.pay_grade g USING (pay_grade)
      JOIN ontology.employment_type t USING (employment_type)`);
  assert.equal(joined.status, 200, joined.text);
  assert.deepEqual(joined.json.columns.map(({ type }) => type),
                   [...Array(6).fill('VARCHAR'), 'DECIMAL(7,2)', 'DECIMAL(6,2)', 'DATE']);
  // A month is its first day.
  const cells = sent.map((row) => Object.values({ ...row, pay_period: `${row.pay_period}-01` }));
  assert.deepEqual(joined.json.rows.toSorted(), cells.toSorted());

  const distinct = (...columns) => [...new Set(sent.map(
      (row) => JSON.stringify(columns.map((column) => row[column]))))].sort().map(JSON.parse);
  const things = (view, columns) => server.rows(
      kKb, `SELECT ${columns} FROM ontology.${view} ORDER BY ALL`);
  assert.deepEqual(await things('employee', 'employee_id, name'),
                   distinct('employee_id', 'employee_name'));
  for (const key of ['department', 'location', 'pay_grade', 'employment_type']) {
    assert.deepEqual(await things(key, key), distinct(key));
  }
});

test('more rows of the same kind five times: the version and model stay, and so do older tables',
     { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await server.createReceiver(kKb, 'a_copy');
  await send(server, 'a_copy', compensation(), 'b');
  await apply(server, 'compensation');
  await apply(server, 'a_copy');
  // All that is told but rows, snapshots and times.
  const model = async () => {
    const { version, object_types: types, links, streams: applied } = await ontology(server);
    return JSON.stringify(
        { version, types, links, applied: applied.map(({ stream, views: its }) => [stream, its]) });
  };
  const folder = join(server.kbFolder(kKb), 'strata');
  const files = () => ({ ...filesBelow(join(folder, 'ontology')),
                         ...filesBelow(join(folder, 'snapshots')) });
  const first = await model();
  const kept = files();
  for (let n = 1; n <= 5; ++n) {
    const month = compensation().slice(0, 20).map((row) => ({ ...row, pay_period: `2026-0${n}` }));
    await server.land(kKb, 'compensation', month, `month${n}`);
    const { version, unchanged, rows } = await apply(server, 'compensation');
    assert.deepEqual([version, unchanged, rows], [2, false, 60 + 20 * n]);
    assert.equal(await model(), first);
    const now = files();
    assert.deepEqual({ ...now, ...kept }, now);
    Object.assign(kept, now);
  }
  assert.deepEqual(await views(server), [...kSix, 'pay_fact_2'].sort());
  assert.deepEqual(await versions(server), ['2 active', '1 retired']);
  assert.deepEqual(await server.rows(kKb, `
      SELECT (SELECT count(*) FROM ontology.pay_fact), (SELECT count(*) FROM ontology.pay_fact_2),
             (SELECT count(*) FROM ontology.employee)`), [[160, 60, 20]]);
  const rowCounts = async (some) => (await Promise.all(
      Object.keys(kept).filter((path) => some.test(path)).map(readParquet)))
      .map(({ rowCount }) => rowCount).sort((a, b) => a - b);
  const ofAll = [60, 60, 80, 100, 120, 140, 160];
  assert.deepEqual(await rowCounts(/\/snapshots\//), ofAll);
  assert.deepEqual(await rowCounts(/\/ontology\/.*pay_fact/), ofAll);
  assert.deepEqual(await rowCounts(/\/ontology\/.*employee\./), ofAll.map(() => 20));
});

test('other names, another order: the same structure', { skip }, async () => {
  const one = await serveStream('compensation', compensation());
  const two = await serveStream('staff', staff());
  await apply(one, 'compensation');
  await apply(two, 'staff');
  assert.deepEqual(structure(await ontology(two)), structure(await ontology(one)));
});

test('two streams of one knowledgebase: one dimension, each key once', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await server.createReceiver(kKb, 'sites');
  await apply(server, 'compensation');
  const rows = Array.from({ length: 200 }, (_, n) => ({
    reading_id: `R${n}`, read_at: `2026-06-${String(n % 28 + 1).padStart(2, '0')}T08:00:00`,
    location: ['Oslo', 'Lyon', 'Bern'][n % 3], celsius: `${(n * 7) % 30}.${n % 10}`,
  }));
  await send(server, 'sites', rows, 'r');
  const outcome = await apply(server, 'sites');
  assert.equal(outcome.version, 2);
  assert.deepEqual(await versions(server), ['2 active', '1 retired']);
  assert.deepEqual(await server.rows(kKb, 'SELECT location FROM ontology.location ORDER BY ALL'),
                   [['Bern'], ['Gent'], ['Lyon'], ['Oslo'], ['Porto']]);
});

test('what cannot be applied is refused before any work', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await server.createReceiver(kKb, 'empty');
  await server.createKb('files', 'file');
  await server.createReceiver('files', 's');
  const onFiles = await server.control('/knowledgebase/files/strata/receivers/s/ontology');
  assert.deepEqual([onFiles.status, onFiles.json.code], [409, 'backend_unsupported']);
  assert.match(onFiles.json.detail, /strata kb migrate files --backend postgres/);
  const empty = await post(server, 'empty');
  assert.deepEqual([empty.status, empty.json.code], [409, 'empty_stream']);
  const unknown = await post(server, 'none');
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'unknown_stream']);
  const both = await Promise.all([post(server, 'compensation'), post(server, 'compensation')]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409]);
  const [begun, refused] = both.toSorted((a, b) => a.status - b.status);
  assert.deepEqual([refused.json.code, refused.json.job], ['ontology_running', begun.json.job]);
  await until(async () => (await server.job(kKb, begun.json.job)).state === 'done', 'the job');
  assert.equal((await server.get(`${kBase}/jobs`)).json.jobs.length, 1);
});

/// Whoever does `event` to the versions loses his connection, until what this answers is called.
function cutOff(server, event) {
  const database = new URL(server.postgresUrl).pathname.slice(1);
  postgres.sql(`CREATE OR REPLACE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql
      SECURITY DEFINER AS $$ BEGIN
        PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NEW;
      END $$`, database);
  postgres.sql(`CREATE TRIGGER cut_off BEFORE ${event} ON strata.ontology_versions
      FOR EACH ROW EXECUTE FUNCTION cut_off()`, database);
  return () => postgres.sql('DROP TRIGGER cut_off ON strata.ontology_versions', database);
}
for (const [event, rows, counted, listed] of [
  ['INSERT', compensation().map((row) => ({ ...row, team: `T${row.department[0]}` })), 60,
   ['3 active', '1 retired']],
  ['UPDATE OF state', compensation().map((row) => ({ ...row, team: `T${row.department[0]}` })),
   120, ['2 active', '1 retired']],
  ['UPDATE OF content', compensation(), 60, ['1 active']],
]) {
  test(`PostgreSQL lost at ${event}: the model stays, the next run completes`, { skip },
       async () => {
    const server = await serveStream('compensation', compensation());
    await apply(server, 'compensation');
    const model = await ontology(server);
    await send(server, 'compensation', rows, 'c');
    const mend = cutOff(server, event);
    const { json: { job: id } } = await post(server, 'compensation');
    await until(async () => (await server.job(kKb, id)).state === 'failed', 'the job to fail');
    assert.equal((await server.metrics())['strata_ontology_jobs_total{result="failed"}'], 1);
    assert.doesNotMatch((await server.job(kKb, id)).reason, /postgresql:\/\/|pass@|\/tmp/);
    assert.deepEqual(await ontology(server), model);
    assert.deepEqual(await server.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact'),
                     [[counted]]);
    mend();
    assert.equal((await apply(server, 'compensation')).version, Number.parseInt(listed[0], 10));
    assert.deepEqual(await versions(server), listed);
    assert.deepEqual(await server.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact'), [[120]]);
  });
}

test('PostgreSQL killed under a job: its end is told when it is back, the next run completes',
     { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await apply(server, 'compensation');
  const model = await ontology(server);
  await send(server, 'compensation', compensation().map(
      (row) => ({ ...row, team: `T${row.department[0]}` })), 'c');
  const database = new URL(server.postgresUrl).pathname.slice(1);
  const letGo = await postgres.hold('strata.ontology_versions', database);
  const { json: { job: id } } = await post(server, 'compensation');
  await until(() => postgres.someSession(database, "wait_event_type = 'Lock'"), 'the job to wait');
  await postgres.stop();
  await letGo();
  // Meanwhile batches land and the version that is active answers.
  await server.land(kKb, 'compensation', compensation().slice(0, 1), 'meanwhile');
  assert.deepEqual(await server.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact'), [[60]]);
  await postgres.start();
  const state = async () => (await server.job(kKb, id)).state;
  await until(async () => await state() === 'failed', 'the end of the job');
  assert.deepEqual(await ontology(server), model);
  assert.equal((await apply(server, 'compensation')).version, 2);
  assert.deepEqual(await versions(server), ['2 active', '1 retired']);
  assert.deepEqual(await server.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact'), [[121]]);
});

test('facts of one name: each type says which view is its own', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await server.createReceiver(kKb, 'a_copy');
  await send(server, 'a_copy', compensation().slice(0, 40), 'b');
  await apply(server, 'compensation');
  assert.deepEqual((await apply(server, 'a_copy')).views.filter((view) => /fact/.test(view)),
                   ['pay_fact_2']);
  const { object_types: types } = await ontology(server);
  const facts = types.filter(({ kind }) => kind === 'fact');
  assert.deepEqual(Object.fromEntries(facts.map(({ stream, view }) => [stream, view])),
                   { compensation: 'pay_fact', a_copy: 'pay_fact_2' });
  assert.deepEqual(await server.rows(kKb, `
      SELECT (SELECT count(*) FROM ontology.pay_fact), (SELECT count(*) FROM ontology.pay_fact_2),
             (SELECT count(*) FROM ontology.employee)`), [[60, 40, 20]]);
});

test('a stream made anew under an old name is applied anew', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  await apply(server, 'compensation');
  const gone = await server.request('DELETE', `${kBase}/receivers/compensation`);
  assert.equal(gone.status, 200, gone.text);
  // What was made of it stays.
  assert.deepEqual(await views(server), kSix);
  await server.createReceiver(kKb, 'compensation');
  await send(server, 'compensation', compensation().map((row) => ({ ...row, bonus: '1.00' })), 'b');
  assert.equal((await apply(server, 'compensation')).unchanged, false);
  assert.deepEqual(await server.rows(kKb, 'SELECT sum(bonus) FROM ontology.pay_fact'), [['60.00']]);
});

test('moved to another folder all views answer, before and after it is applied again', { skip },
     async () => {
  const server = await serveStream('compensation', compensation());
  await server.createReceiver(kKb, 'other');
  await send(server, 'other', compensation().slice(0, 30), 'b');
  await apply(server, 'other');
  await apply(server, 'compensation');
  const model = await ontology(server);
  await server.stop();
  const data = join(freshFolder(), 'year=2026');
  renameSync(server.data, data);
  const moved = await serve({ data, url: server.postgresUrl });
  const counts = () => moved.rows(kKb, `
      SELECT (SELECT count(*) FROM ontology.pay_fact), (SELECT count(*) FROM ontology.pay_fact_2),
             (SELECT count(*) FROM ontology.employee)`);
  assert.deepEqual(await counts(), [[30, 60, 20]]);
  assert.deepEqual(await ontology(moved), model);
  assert.equal(acquisitions(await moved.metrics(), '', 'relocate'), 1);
  assert.deepEqual((await moved.query(kKb, 'SELECT * FROM ontology.pay_grade')).json.columns
      .map(({ name }) => name), ['pay_grade', '_strata_conflicts', '_strata_source']);
  const strangers = () => moved.rows(kKb, `SELECT count(*) FROM ontology.pay_fact_2
      WHERE NOT starts_with(filename, '${data}/')`);
  assert.deepEqual(await strangers(), [[60]]);
  const { version, unchanged } = await apply(moved, 'compensation');
  assert.deepEqual([version, unchanged], [2, false]);
  assert.deepEqual(await strangers(), [[0]]);

  // Away from its catalog it says so, and is whole when that is back.
  await moved.stop();
  renameSync(data, server.data);
  const back = await serve({ data: server.data, url: server.postgresUrl });
  await postgres.stop();
  const busy = await back.query(kKb, 'SELECT count(*) FROM ontology.employee');
  assert.deepEqual([busy.status, busy.json.code], [503, 'busy'], busy.text);
  await postgres.start();
  const answer = () => back.query(kKb, 'SELECT count(*) FROM ontology.employee');
  await until(async () => (await answer()).status === 200, 'the views');
  assert.deepEqual((await answer()).json.rows, [[20]]);
});

for (const [catalog, dumpedAfter, shown, next] of [
  ['without its catalog', 0, null, 4],
  ['with an older catalog', 1, 1, 4],
]) {
  test(`a folder ${catalog}: its tables stay, and numbers go on`, { skip }, async () => {
    const server = await serveStream('compensation', compensation());
    let dump;
    for (let version = 1; version <= 3; ++version) {
      if (version > 1) {
        await send(server, 'compensation',
                   compensation().map((row) => ({ ...row, [`more_${version}`]: 'x' })),
                   `v${version}`);
      }
      assert.equal((await apply(server, 'compensation')).version, version);
      if (version === dumpedAfter) dump = postgres.dump(server.postgresUrl);
    }
    const tables = filesBelow(join(server.kbFolder(kKb), 'strata/ontology'));
    await server.stop();
    const restored = await serve({ data: server.data, dump });
    assert.equal((await ontology(restored)).version, shown);
    // Without a catalog what is published stays; else the catalog decides.
    const counted = await restored.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact');
    assert.deepEqual(counted, [[shown === null ? 180 : 60]]);
    const { version, unchanged } = await apply(restored, 'compensation');
    assert.deepEqual([version, unchanged], [next, false]);
    assert.deepEqual(await restored.rows(kKb, 'SELECT count(*) FROM ontology.pay_fact'), [[180]]);
    const now = filesBelow(join(server.kbFolder(kKb), 'strata/ontology'));
    assert.deepEqual({ ...now, ...tables }, now);
    assert.deepEqual(Object.keys(now).filter((path) => !(path in tables))
        .filter((path) => !path.includes(`/00000${next}/`)), []);
  });
}

test('the command waits for the job and shows the types', { skip }, async () => {
  const server = await serveStream('compensation', compensation());
  const applied = await run(['apply', kKb, 'compensation', '--wait', '--url', server.url]);
  assert.equal(applied.code, 0, applied.log);
  assert.match(applied.out, /^version 1: .*pay_fact/);
  const shown = await run(['ontology', 'show', kKb, '--url', server.url]);
  assert.match(shown.out, /Employee +\| dimension \| ontology\.employee/);
  const listed = await run(['ontology', 'versions', kKb, '--url', server.url]);
  assert.match(listed.out, /1 +\| active/);
});
