// Readers while batches land: every answer right, no lock taken by a query.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWith } from './harness.mjs';
import { whileReading } from './while_reading.mjs';

const kKb = 'demo';
const kPosts = 1000;
const kRowsPerPost = 3;

const acquisitions = (metrics) => Object.entries(metrics)
    .filter(([name]) => name.startsWith('strata_lock_acquisitions_total'))
    .reduce((sum, [, value]) => sum + value, 0);
const generationOf = (metrics) => metrics[`strata_generation{kb="${kKb}"}`];

test('a thousand batches under four readers: right answers, one lock, one generation', async () => {
  const server = await startWith(kKb, ['busy']);
  const before = await server.metrics();
  const rows = Array.from({ length: kRowsPerPost }, (_, n) => ({ n }));
  let sent = 1;
  let acknowledged = 1;
  await server.land(kKb, 'busy', rows, 'b0');
  const read = async () => {
    const least = acknowledged;
    const [[count, distinct]] = await server.rows(
        kKb, 'SELECT count(*), count(DISTINCT _batch_id) FROM raw_extracted.stream_busy');
    const most = sent;
    assert.equal(count, distinct * kRowsPerPost);
    assert.ok(least <= distinct && distinct <= most, `${least} <= ${distinct} <= ${most}`);
  };
  const counts = await whileReading(4, read, async () => {
    while (sent < kPosts) {
      const id = `b${sent++}`;
      await server.land(kKb, 'busy', rows, id);
      ++acknowledged;
    }
  });
  assert.ok(counts.every((count) => count > 0));
  const after = await server.metrics();
  assert.equal(acquisitions(after) - acquisitions(before), 1);
  assert.equal(generationOf(after) - generationOf(before), 1);
});
