// The log of a run against what is there after it: through each node, in the files, and for a
// client of somebody else's.
import { existsSync, readlinkSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { batchesOf, check, readView } from '../e2e/checker.mjs';
import { repository, until } from '../e2e/harness.mjs';
import { batchFiles, verifyRoot } from '../e2e/independent.mjs';
import { newestNumbered } from '../e2e/numbered.mjs';
import { kKbs } from './cluster.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

const viewOf = (stream) => `raw_extracted.stream_${stream}`;
const plain = (value) => JSON.stringify(value);

/// Sentences, each told once.
class Problems {
  list = [];
  expectSame(what, found, expected) {
    if (isDeepStrictEqual(found, expected)) return;
    this.list.push(`${what}: ${plain(found)}, not ${plain(expected)}`.slice(0, 600));
  }
  add(what, sentences) { this.list.push(...sentences.map((one) => `${what}: ${one}`)); }
}

/// `read` over the file as a program of somebody else's opens it.
async function fromOutside(file, read) {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return await read(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function viewsIn(connection) {
  const reader = await connection.runAndReadAll(
      "SELECT view_name FROM duckdb_views() WHERE schema_name = 'raw_extracted'");
  return reader.getRows().map(([name]) => `raw_extracted.${name}`).toSorted();
}

async function readOutside(connection, stream) {
  const reader = await connection.runAndReadAll(
      `SELECT * EXCLUDE (filename) FROM ${viewOf(stream)}`);
  return batchesOf(reader.columnNames(), reader.getRows());
}

const rowsOf = (batches) => [...batches.values()].reduce((sum, { rows }) => sum + rows.length, 0);
const inOrder = (seen) => [...seen].map(([id, digests]) => [id, digests.toSorted()])
                                   .toSorted(([a], [b]) => (a < b ? -1 : 1));

/// A batch is in no other file than its own, and its answers are one, but for whose it was first.
function judgeAnswers(problems, folder, { id, rows, answers, unanswered }) {
  const figures = answers.map(({ replayed, ...figure }) => figure);
  const fresh = answers.filter(({ replayed }) => !replayed).length;
  if (fresh !== 1 && !(fresh === 0 && unanswered > 0)) {
    problems.add(id, [`${fresh} of ${answers.length} answers say that it was new`]);
  }
  for (const figure of figures) problems.expectSame(`${id}, answered again`, figure, figures[0]);
  if (answers.length === 0) return problems.add(id, ['nobody was told that it landed']);
  const { batch_id: named, rows: count, bytes, file } = figures[0];
  const path = join(folder, file);
  const size = existsSync(path) ? statSync(path).size : 'no file';
  return problems.expectSame(`the answer to ${id}`, [named, count, bytes, basename(file)],
                             [id, rows.length, size, `${id}.parquet`]);
}

/// A stream's files, and what each node and an outsider reads of it.
async function judgeStream(problems, cluster, target, outside) {
  const { kb, stream, history, batches } = target;
  const name = `${kb}/${stream}`;
  const folder = cluster.nodes[0].server.streamFolder(kb, stream);
  const files = batchFiles(folder);
  problems.expectSame(`${name}, files`, files.map((path) => basename(path, '.parquet')),
                      [...batches.keys()].toSorted());
  for (const batch of batches.values()) judgeAnswers(problems, folder, batch);

  const sent = [...new Set([...batches.values()].flatMap(({ rows }) => Object.keys(rows[0])))];
  const registry = newestNumbered(join(folder, 'columns'))?.columns ?? [];
  problems.expectSame(`${name}, registry`, registry.toSorted(), sent.toSorted());

  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
  const numbers = { files: files.length, rows: rowsOf(batches), bytes };
  const wanted = files.length === 0 ? undefined : inOrder(await readOutside(outside, stream));
  for (const { name: node, server } of cluster.nodes) {
    await until(async () => (await server.receiver(kb, stream)).files >= files.length,
                `the others' numbers of ${name}`);
    const receiver = await server.receiver(kb, stream);
    problems.expectSame(`${name}, numbers of ${node}`,
                        { files: receiver.files, rows: receiver.rows, bytes: receiver.bytes },
                        numbers);
    const state = files.length === 0 ? 'deferred' : 'ready';
    problems.expectSame(`${name}, view of ${node}`, receiver.view.state, state);
    // In the registry's order as far as the node knows it.
    const profile = await server.get(`/knowledgebase/${kb}/strata/receivers/${stream}/columns`);
    problems.expectSame(`${name}, columns that ${node} lists`,
                        profile.json.columns.map(({ column }) => column).toSorted(),
                        registry.toSorted());
    if (files.length === 0) continue;
    problems.expectSame(`${name}, columns of ${node}`,
                        (await server.rows(kb, `DESCRIBE ${viewOf(stream)}`))
                            .map(([column]) => column).slice(0, -2), registry);
    const seen = await readView(server, kb, stream);
    for (const [kind, ids] of Object.entries(check(history, seen))) {
      problems.add(`${name} by ${node}, ${kind}`, ids);
    }
    if (!isDeepStrictEqual(inOrder(seen), wanted)) {
      problems.add(name, [`${node} does not read what an outsider reads`]);
    }
  }
}

/// Every receiver is listed by every node and in its manifest.
async function judgeLists(problems, { nodes }, kb, targets) {
  const streams = targets.map(({ stream }) => stream).toSorted();
  const manifest = targets.map(({ stream, batches }) => [
    viewOf(stream), ...(batches.size === 0 ? [null, 'deferred'] : [rowsOf(batches), 'ready']),
  ]).toSorted();
  for (const { name, server } of nodes) {
    const { receivers } = (await server.get(`/knowledgebase/${kb}/strata/receivers`)).json;
    problems.expectSame(`${kb}, receivers of ${name}`,
                        receivers.map(({ stream }) => stream).toSorted(), streams);
    problems.expectSame(`${kb}, manifest of ${name}`, (await server.rows(
        kb, 'SELECT "table", rows, state FROM _strata_manifest')).toSorted(), manifest);
  }
}

/// Numbers without a gap, each whole or a tombstone; a view is never lost again; and what readers
/// were shown is there.
async function judgeGenerations(problems, { nodes }, kb, { watch, reads, views }) {
  watch.look();
  const folder = nodes[0].server.kbFolder(kb);
  const { numbers, newest, tombstones } = watch;
  problems.expectSame(`${kb}, generations`, numbers, numbers.map((_, n) => n + 1));
  let before = [];
  const viewsOf = new Map();
  for (const number of numbers.filter((one) => !tombstones.includes(one))) {
    const file = join(folder, 'generations', `${`${number}`.padStart(6, '0')}.duckdb`);
    const now = await fromOutside(file, viewsIn);
    problems.add(`${kb}, generation ${number} lost`, before.filter((one) => !now.includes(one)));
    viewsOf.set(number, now);
    before = now;
  }
  problems.expectSame(`${kb}, views`, before, views);
  for (const { generation, views: seen } of reads) {
    if (generation > newest) problems.add(kb, [`a reader saw generation ${generation}`]);
    const there = viewsOf.get(generation);
    if (there !== undefined) {
      problems.expectSame(`${kb}, generation ${generation} as read`, seen, there);
    } else {
      problems.add(`${kb}, seen in ${generation} and lost`,
                   seen.filter((one) => !before.includes(one)));
    }
  }
  const link = readlinkSync(join(folder, 'knowledgebase.duckdb'));
  problems.expectSame(`${kb}, link`, Number(/(\d+)\.duckdb$/.exec(link)[1]), newest);
  for (const { name, server } of nodes) {
    problems.expectSame(`${kb}, generation of ${name}`,
                        (await server.metrics())[`strata_generation{kb="${kb}"}`], newest);
  }
}

/// Every view, once whoever misses one has asked for it.
async function viewsComeUp({ nodes }, targets) {
  for (const { kb, stream, batches } of targets) {
    if (batches.size === 0) continue;
    for (const { server } of nodes) {
      await until(async () => (await server.query(
          kb, `SELECT count(*) FROM ${viewOf(stream)}`)).status === 200, `${kb}/${stream}`);
      await until(async () => (await server.receiver(kb, stream)).view.state === 'ready',
                  `the view of ${kb}/${stream}`);
    }
  }
}

/// What is wrong: a list of sentences. `watches` are by kb.
export async function problemsOf(cluster, load, watches) {
  const problems = new Problems();
  problems.add('refused', load.refused);
  await viewsComeUp(cluster, load.targets);
  for (const kb of kKbs) {
    const targets = load.targets.filter((target) => target.kb === kb);
    const link = join(cluster.nodes[0].server.kbFolder(kb), 'knowledgebase.duckdb');
    await fromOutside(link, async (outside) => {
      for (const target of targets) await judgeStream(problems, cluster, target, outside);
    });
    await judgeLists(problems, cluster, kb, targets);
    const views = targets.filter(({ batches }) => batches.size > 0)
                         .map(({ stream }) => viewOf(stream)).toSorted();
    await judgeGenerations(problems, cluster, kb, {
      watch: watches.get(kb), reads: load.reads.filter((read) => read.kb === kb), views,
    });
  }
  problems.add('files', (await verifyRoot(cluster.data)).problems);
  await until(() => cluster.redis.command('DBSIZE') === '0', 'every lock to be let go');
  return problems.list;
}
