// Readers while batches land through two processes: every answer right, no lock taken by a query.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acquisitions, start, startWith } from './harness.mjs';
import { whileReading } from './while_reading.mjs';

const kKb = 'demo';
const kPosts = 1000;
const kRowsPerPost = 3;

const generationOf = (metrics) => metrics[`strata_generation{kb="${kKb}"}`];

test('a thousand batches under four readers: right answers, one lock, one generation', async () => {
  const one = await startWith(kKb, ['busy']);
  const servers = [one, await start({ data: one.data })];
  const metricsOfBoth = () => Promise.all(servers.map((server) => server.metrics()));
  const before = await metricsOfBoth();
  const rows = Array.from({ length: kRowsPerPost }, (_, n) => ({ n }));
  let sent = 1;
  let acknowledged = 1;
  await one.land(kKb, 'busy', rows, 'b0');
  const read = async (reader) => {
    const least = acknowledged;
    const [[count, distinct]] = await servers[reader % 2].rows(
        kKb, 'SELECT count(*), count(DISTINCT _batch_id) FROM raw_extracted.stream_busy');
    const most = sent;
    assert.equal(count, distinct * kRowsPerPost);
    assert.ok(least <= distinct && distinct <= most, `${least} <= ${distinct} <= ${most}`);
  };
  const counts = await whileReading(4, read, async () => {
    while (sent < kPosts) {
      const n = sent++;
      await servers[n % 2].land(kKb, 'busy', rows, `b${n}`);
      ++acknowledged;
    }
  });
  assert.ok(counts.every((count) => count > 0));
  const after = await metricsOfBoth();
  // Of all streams and purposes: there is one stream, and nothing else may take the lock.
  const taken = (all) => all.reduce((sum, metrics) => sum + acquisitions(metrics), 0);
  assert.equal(taken(after) - taken(before), 1);
  assert.deepEqual(after.map((metrics, n) => generationOf(metrics) - generationOf(before[n])),
                   [1, 1]);
});
