// The log of a run against what is there after it: through each node, in the files, and for a
// client of somebody else's.
import { existsSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { check, readView } from '../e2e/checker.mjs';
import { until } from '../e2e/harness.mjs';
import { batchFiles, verifyRoot } from '../e2e/independent.mjs';
import { newestNumbered } from '../e2e/numbered.mjs';
import { kKbs } from './cluster.mjs';
import { fromOutside, readOutside, viewOf } from './outside.mjs';

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

/// Numbers without a gap, each of which was whole; a view is never lost again; and what readers
/// were shown is there.
async function judgeGenerations(problems, { nodes }, kb, { generations, reads, views }) {
  await generations.open();
  const { numbers, newest } = generations;
  problems.expectSame(`${kb}, generations`, numbers, numbers.map((_, n) => n + 1));
  let before = [];
  for (const [number, now] of [...generations.views].toSorted(([a], [b]) => a - b)) {
    problems.add(`${kb}, generation ${number} lost`, before.filter((one) => !now.includes(one)));
    before = now;
  }
  problems.expectSame(`${kb}, views`, before, views);
  for (const { generation, views: seen } of reads) {
    problems.expectSame(`${kb}, generation ${generation} as read`, seen,
                        generations.views.get(generation) ?? 'none that was opened');
  }
  const link = readlinkSync(join(nodes[0].server.kbFolder(kb), 'knowledgebase.duckdb'));
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

/// What is wrong: a list of sentences. `generations` are by kb.
export async function problemsOf(cluster, load, generations) {
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
      generations: generations.get(kb), reads: load.reads.filter((read) => read.kb === kb), views,
    });
  }
  problems.add('files', (await verifyRoot(cluster.data)).problems);
  await until(() => cluster.redis.command('DBSIZE') === '0', 'every lock to be let go');
  return problems.list;
}
