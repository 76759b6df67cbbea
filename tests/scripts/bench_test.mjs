// What the benchmark makes of its runs: medians by round, the floor that counts, the goals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floorRow, kBatchRows, kProducers, median, medians } from '../../bench/landing.mjs';
import { goals, report } from '../../bench/report.mjs';

test('a median is the middle one, or between the two in the middle', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 2, 100]), 3);
});

test('the floor is the fastest of as many threads, 8 and 16, with the latency of as many', () => {
  const run = (threads, rate) => ({
    threads, batch_rows: 100, acks_per_s: rate, p50_ms: threads / 10, p99_ms: threads,
  });
  const runs = [run(1, 300), run(8, 900), run(16, 800), run(32, 1000)];
  const expected = { system: 'floor', batch_rows: 100, ratio_to_floor: 1 };
  assert.deepEqual(floorRow(runs, 1), {
    ...expected, producers: 1, threads: 8, acks_per_s: 900, rows_per_s: 90_000, p50_ms: 0.1,
    p99_ms: 1,
  });
  assert.deepEqual(floorRow(runs, 32), {
    ...expected, producers: 32, threads: 32, acks_per_s: 1000, rows_per_s: 100_000, p50_ms: 3.2,
    p99_ms: 32,
  });
});

test('rounds become medians, system by system whatever their order, figure by figure', () => {
  const row = (system, rate, p50) => ({
    system, producers: 8, batch_rows: 100, acks_per_s: rate, p50_ms: p50,
  });
  const rounds = [
    { rows: [row('floor', 10, 3), row('strata', 5, 1)] },
    { rows: [row('strata', 9, 2), row('floor', 30, 1)] },
    { rows: [row('floor', 20, 2), row('strata', 7, 9)] },
  ];
  assert.deepEqual(medians(rounds), [row('floor', 20, 2), row('strata', 7, 2)]);
});

/// A run in which every server acknowledges `rate` batches a second, the floor 1,000.
function result(rates, p50) {
  const rows = kBatchRows.flatMap((batchRows) => kProducers.flatMap(
      (producers) => Object.entries({ floor: 1000, ...rates }).map(([system, rate]) => ({
        system, producers, batch_rows: batchRows, acks_per_s: rate,
        rows_per_s: rate * batchRows, p50_ms: system === 'floor' ? 0.25 : p50, p99_ms: 1,
        ratio_to_floor: rate / 1000,
      }))));
  const part = { copy_to_encode: 30 };
  return {
    machine: { load_by_round: [0.1] },
    rows,
    encoder: { rows_1: part, rows_100: part, rows_10000: part, weather: { ratio: 1.2 } },
    query: [],
    start_ms: {},
    rss_mb: { idle_1000: 90, load_peak: 400 },
    notes: ['peer_python: skipped.'],
  };
}

test('goals are reached or not by their bounds', () => {
  const reached = ({ rows, encoder, rss_mb }) => goals({ rows, encoder, rss_mb })
      .map(([, figure, bound, isReached]) => [Number(figure.toFixed(3)), bound, isReached]);
  assert.deepEqual(reached(result({ strata: 600, strata_copy: 400, peer_python: 50 }, 0.5)), [
    [0.6, '>= 0.5', true], [1.5, '>= 2', false], [12, '>= 10', true], [3, '>= 0.5', true],
    [0.25, '<= 0.3', true], [30, '>= 25', true], [90, '<= 100', true], [400, '<= 300', false],
    [1.2, '<= 1.1', false],
  ]);
  assert.deepEqual(reached(result({ strata: 90, strata_copy: 10 }, 0.6)), [
    [0.09, '>= 0.5', false], [9, '>= 2', true], [0.45, '>= 0.5', false], [0.35, '<= 0.3', false],
    [30, '>= 25', true], [90, '<= 100', true], [400, '<= 300', false], [1.2, '<= 1.1', false],
  ]);
});

test('the report has a line per system and says what was skipped', () => {
  const text = report(result({ strata: 600, strata_copy: 300 }, 0.5));
  assert.match(text, /^\| 10,000 \| 32 \| strata \| 600 \| 6,000,000 \| 0\.50 \| 1\.00 \|/m);
  assert.match(text, /^\| the same to strata_copy \| 2\.00 \| >= 2 \| yes \|$/m);
  assert.match(text, /^peer_python: skipped\.$/m);
});
