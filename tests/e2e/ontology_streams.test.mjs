// The open half of tests/ontology's streams through real servers: the models are good enough, they
// are the same whatever order rows came in, and applying again adds nothing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { before, test } from 'node:test';
import { apply, appliedBatches, idOf, inBatches, neutral } from '../ontology/apply.mjs';
import { kLevels, streams } from '../ontology/generate.mjs';
import { judge } from '../ontology/judge.mjs';
import { kSeed } from './given.mjs';
import { acquisitions, freshFolder, start } from './harness.mjs';
import { randomFrom, shuffled } from './random.mjs';
import { Postgres, servicesMissing as skip } from './services.mjs';

const kBatches = 8;
const kOtherBatches = 5;
const kAgain = 10;

const domainOf = ({ name }) => name.replace(/-\d$/, '');
/// The smallest first.
const kStreams = streams().filter(({ open }) => open)
    .map(({ name, level, rows }) => ({ name, level, id: idOf(name), rows: rows() }))
    .sort((a, b) => a.rows.length - b.rows.length);

/// Of the two streams of a domain the noisier one: that is enough for the third order.
const isNoisier = (one) => !kStreams.some(
    (other) => other.level > one.level && domainOf(other) === domainOf(one));

/// How the rows of a stream come, by the server that they come to.
const kOrders = {
  as_they_are: (rows) => inBatches(rows, Math.ceil(rows.length / kBatches)),
  // Files are read in the order of their names, so this one shows in the columns' alone.
  batches_shuffled: (rows, random) => shuffled(random, kOrders.as_they_are(rows)),
  // Rows and columns in another order, cut otherwise, under other ids.
  all_shuffled: (rows, random) => {
    const members = (row) => Object.fromEntries(shuffled(random, Object.entries(row)));
    return inBatches(shuffled(random, rows).map(members), Math.ceil(rows.length / kOtherBatches))
        .map(({ id, rows: some }) => ({ id: `c${id}`, rows: some }));
  },
};

const streamsOf = (order) => (order === 'all_shuffled' ? kStreams.filter(isNoisier) : kStreams);

/// Servers that have the same knowledgebases, one a stream, each in a root and a database of its
/// own: ids in a model are of the knowledgebase's UUID, which is drawn when it is made.
async function twins(postgres, names) {
  const url = postgres.database('origin');
  const origin = await start({ args: ['--postgres', url] });
  for (const { id } of kStreams) {
    await origin.createKb(id, 'postgres');
    await origin.createReceiver(id, id);
  }
  await origin.stop();
  const servers = {};
  for (const name of names) {
    const data = join(freshFolder(), 'root');
    execFileSync('cp', ['-a', origin.data, data]);
    postgres.sql(`CREATE DATABASE ${name} TEMPLATE origin`);
    servers[name] = await start({ data, args: ['--postgres', url.replace(/origin$/, name)] });
  }
  return servers;
}

let servers;
const models = {};  // by server, then by stream
before(async () => {
  if (skip) return;
  servers = await twins(await Postgres.start(), Object.keys(kOrders));
  await Promise.all(Object.entries(servers).map(async ([order, server]) => {
    models[order] = {};
    const random = randomFrom(kSeed);
    for (const { id, rows } of streamsOf(order)) {
      const batches = kOrders[order](rows, random);
      models[order][id] = await appliedBatches(server, { kb: id, stream: id, batches });
    }
  }));
});

test('the models of the open streams reach the marks', { skip }, () => {
  const folder = freshFolder();
  for (const { name, id } of kStreams) {
    const model = neutral(models.as_they_are[id], id);
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(model));
  }
  const { lines, enough } = judge(folder, { open: true, faults: true });
  assert.ok(enough, lines.join('\n'));
});

/// All of a model's answer but the moments.
const timeless = ({ created_at: _, streams: all, ...rest }) => JSON.stringify(
    { ...rest, streams: all.map(({ taken_at: __, ...others }) => others) });

function assertSame(model, expected) {
  assert.deepEqual(model.object_types, expected.object_types);  // says where they differ
  assert.equal(timeless(model), timeless(expected));
}

/// The tables of a model: columns and types, and the rows in the order of their text, each by its
/// columns. `filename` without the folder, which is each root's own.
async function tablesOf(server, id) {
  const tables = {};
  for (const { view, kind, key } of models.as_they_are[id].object_types) {
    const sql = `SELECT * FROM ontology.${view}`;
    const { status, text, json } = await server.query(id, sql);
    assert.equal(status, 200, text);
    assert.equal(json.truncated, false);
    const rows = json.rows.map((cells) => Object.fromEntries(
        json.columns.map(({ name }, at) => [name, cells[at]])));
    for (const row of kind === 'fact' ? rows : []) row.filename = basename(row.filename);
    tables[view] = { key, columns: json.columns, rows };
  }
  return tables;
}

const tablesIn = (orders, id) => Promise.all(orders.map((order) => tablesOf(servers[order], id)));

const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();
const mapRows = (tables, change) => Object.fromEntries(Object.entries(tables).map(
    ([view, { rows, key, ...rest }]) => [
      view, { ...rest, rows: sorted(rows.map((row) => change(row, key))) }]));

/// What of a row does not say in which batch it came. Of a dimension's properties with several
/// values the latest batch's is shown.
function withoutBatches({ filename: _, _batch_id: __, ...row }, key) {
  if (!row._strata_conflicts) return row;
  return { key: row[key], conflicts: row._strata_conflicts };
}

/// The profile as it lies beside the table, its columns by name: they are in the order in which
/// the stream first saw them.
function profileOf(server, id) {
  const folder = join(server.kbFolder(id), 'strata/tables');
  const [table, ...more] = readdirSync(folder);
  assert.deepEqual(more, []);
  const { columns, ...rest } = JSON.parse(readFileSync(join(folder, table, '.profile.json')));
  return { ...rest, columns: columns.toSorted((a, b) => (a.column < b.column ? -1 : 1)) };
}

for (const { name, id, rows } of kStreams) {
  test(`${name}: the order of batches changes no byte, seed ${kSeed}`, { skip }, async () => {
    const model = models.as_they_are[id];
    assert.deepEqual([model.version, model.streams[0].rows], [1, rows.length]);
    assertSame(models.batches_shuffled[id], model);
    const all = await tablesIn(['as_they_are', 'batches_shuffled'], id);
    const [one, other] = all.map((tables) => mapRows(tables, (row) => row));
    assert.deepEqual(other, one);
    assert.deepEqual(profileOf(servers.batches_shuffled, id),
                     profileOf(servers.as_they_are, id));
  });
}

for (const { name, id } of streamsOf('all_shuffled')) {
  test(`${name}: rows and columns in any order, seed ${kSeed}`, { skip }, async () => {
    const [first, last] = await Promise.all(['as_they_are', 'all_shuffled'].map(
        (order) => servers[order].columns(id, id)));
    assert.notDeepEqual(last, first);
    assertSame(models.all_shuffled[id], models.as_they_are[id]);
    const all = await tablesIn(['as_they_are', 'all_shuffled'], id);
    const [one, other] = all.map((tables) => mapRows(tables, withoutBatches));
    assert.deepEqual(other, one);
  });
}

/// Every file below a knowledgebase's folder, with its size and when it was last written.
const filesOf = (folder) => readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort()
    .map((path) => {
      const { size, mtimeMs } = statSync(path);
      return `${path} ${size} ${mtimeMs}`;
    });

// Of each level the largest, so the largest of all.
for (const level of kLevels) {
  const { name, id, rows } = kStreams.findLast((one) => one.level === level);
  test(`${name}: applied ${kAgain} times again it adds nothing`, { skip }, async () => {
    const server = servers.as_they_are;
    const base = `/knowledgebase/${id}/strata`;
    const seen = async () => ({
      model: (await server.get(`${base}/ontology`)).text,
      versions: (await server.get(`${base}/ontology/versions`)).text,
      files: filesOf(server.kbFolder(id)),
    });
    const first = await seen();
    assert.equal(JSON.parse(first.versions).versions.length, 1);
    for (let again = 0; again < kAgain; ++again) {
      const { views, ...outcome } = await apply(server, id, id);
      assert.deepEqual(outcome, { version: 1, unchanged: true, rows: rows.length });
      assert.deepEqual(views, models.as_they_are[id].streams[0].views);
    }
    assert.deepEqual(await seen(), first);
    assert.equal((await server.get(`${base}/jobs`)).json.jobs.length, 1 + kAgain);
    // For the views of the first.
    assert.equal(acquisitions(await server.metrics(), id, 'ontology'), 1);
  });
}
