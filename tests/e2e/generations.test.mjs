// Generations that come and go under readers of two servers and of a program of somebody else's.
import assert from 'node:assert/strict';
import { readlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ageGenerations, GenerationWatch } from './generations.mjs';
import { repository, start, startWith, until } from './harness.mjs';
import { whileReading } from './while_reading.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

const kKb = 'demo';
const kGenerations = 200;
// Each reads a few times a generation; without it they would take the processor from the writer.
const kPauseMilliseconds = 25;

const generationOf = (metrics) => metrics[`strata_generation{kb="${kKb}"}`];
const linkedNumber = (link) => Number(/(\d+)\.duckdb$/.exec(readlinkSync(link))[1]);

/// What a program of somebody else's sees in one instance on `link`: its views, and a cell of each.
/// The generation is one of those from `least` to `most`.
async function lookFromOutside(link) {
  const least = linkedNumber(link);
  const instance = await DuckDBInstance.create(link, { access_mode: 'READ_ONLY' });
  const most = linkedNumber(link);
  const connection = await instance.connect();
  const column = async (sql) => (await connection.runAndReadAll(sql)).getRows().flat();
  try {
    const names = await column(
        "SELECT view_name FROM duckdb_views() WHERE schema_name = 'raw_extracted'");
    const all = names.map((name) => `SELECT a FROM raw_extracted.${name}`);
    const cells = await column(`${all.join(' UNION ALL ')} ORDER BY a`);
    return { least, most, names, cells };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test('two hundred generations under readers, an outside client and collection', async () => {
  const one = await startWith(kKb, []);
  await Promise.all(Array.from({ length: kGenerations + 1 },
                               (_, n) => one.createReceiver(kKb, `s${n}`)));
  const two = await start({ data: one.data });
  const landFirst = async (n) => {
    await one.land(kKb, `s${n}`, [{ a: `v${n}` }], 'b');
    const isReady = async () => (await one.receiver(kKb, `s${n}`)).view.state === 'ready';
    await until(isReady, 'the view');
  };
  await landFirst(0);
  const first = generationOf(await one.metrics());
  const link = join(one.kbFolder(kKb), 'knowledgebase.duckdb');
  const watch = new GenerationWatch(one.kbFolder(kKb));
  const newest = [0, 0, 0, 0, 0];
  const readsSinceCollection = [0, 0, 0, 0, 0];
  // Generation `first + n` holds the views of s0 to s<n>, so what a reader saw tells which it was.
  const saw = (reader, generation) => {
    assert.ok(generation >= newest[reader], `backward: ${generation} after ${newest[reader]}`);
    newest[reader] = generation;
    if (watch.tombstones.length > 0) ++readsSinceCollection[reader];
  };
  const readInside = async (reader) => {
    const server = [one, two][reader % 2];
    const answer = await server.query(kKb, 'SHOW TABLES');
    assert.equal(answer.status, 200, answer.text);
    const { generation } = answer.json.read;
    const views = Array.from({ length: generation - first + 1 },
                             (_, n) => `raw_extracted.stream_s${n}`);
    assert.deepEqual(answer.json.rows.flat().toSorted(), views.toSorted(),
                     `in generation ${generation}`);
    assert.deepEqual(await server.rows(kKb, `SELECT a FROM ${views.at(-1)}`),
                     [[`v${views.length - 1}`]]);
    saw(reader, generation);
  };
  const readOutside = async (reader) => {
    const { least, most, names, cells } = await lookFromOutside(link);
    const streams = names.map((_, n) => n);
    assert.deepEqual(names.toSorted(), streams.map((n) => `stream_s${n}`).toSorted());
    assert.deepEqual(cells, streams.map((n) => `v${n}`).toSorted());
    const generation = first + streams.at(-1);
    assert.ok(least <= generation && generation <= most, `${least} ${generation} ${most}`);
    saw(reader, generation);
  };
  const read = async (reader) => {
    await (reader === 4 ? readOutside(reader) : readInside(reader));
    await sleep(kPauseMilliseconds);
  };
  await whileReading(5, read, async () => {
    for (let n = 1; n <= kGenerations; ++n) {
      await landFirst(n);
      watch.look();
      ageGenerations(one.kbFolder(kKb));
    }
  });
  assert.ok(readsSinceCollection.every((count) => count > 0), `${readsSinceCollection}`);
  // Every number from the first on is there, and all but the newest three are tombstones.
  assert.deepEqual(watch.numbers, Array.from({ length: first + kGenerations }, (_, n) => n + 1));
  assert.deepEqual(watch.tombstones, watch.numbers.slice(0, -3));
  for (let reader = 0; reader < 5; ++reader) {
    await read(reader);
    assert.equal(newest[reader], first + kGenerations);
  }
  // Giving back the folders of so many streams takes a while, and is not looked at here.
  for (const server of [one, two]) await server.kill();
});
