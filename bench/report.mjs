// What a person sees of a benchmark: the table, and the figures the project is held to.
import { kBatchRows, kProducers } from './landing.mjs';

const kServers = ['floor', 'strata', 'strata_copy', 'peer_python'];
const kCores = 2;  // "rows a second of wall time divided by 2": the generator has its share

const rowOf = (rows, system, producers, batchRows) => rows.find(
    (row) => row.system === system && row.producers === producers && row.batch_rows === batchRows);

const shown = (number, digits = 0) => (number ?? 0).toLocaleString('en', {
  minimumFractionDigits: digits, maximumFractionDigits: digits,
});

function landingLines(rows) {
  const lines = [
    '| rows a batch | producers | system | acks/s | rows/s | p50 ms | p99 ms | ' +
        'CPU ms an ack | of the floor |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---:|',
  ];
  for (const batchRows of kBatchRows) {
    for (const producers of kProducers) {
      for (const system of kServers) {
        const row = rowOf(rows, system, producers, batchRows);
        if (!row) continue;
        const cpu = row.acks ? shown((row.cpu_s * 1e3) / row.acks, 2) : '';
        const name = row.threads ? `${system} (${row.threads} threads)` : system;
        const cells = [
          shown(batchRows), producers, name, shown(row.acks_per_s), shown(row.rows_per_s),
          shown(row.p50_ms, 2), shown(row.p99_ms, 2), cpu, shown(row.ratio_to_floor, 2),
        ];
        lines.push(`| ${cells.join(' | ')} |`);
      }
    }
  }
  return lines;
}

/// [what, figure, bound, whether it is reached]; a figure that was not measured is left out.
export function goals({ rows, encoder, rss_mb: rss }) {
  const strata = rowOf(rows, 'strata', 8, 100);
  const ratioTo = (system) => {
    const other = rowOf(rows, system, 8, 100);
    return other && strata.acks_per_s / other.acks_per_s;
  };
  const rate = Math.max(
      ...kProducers.map((producers) => rowOf(rows, 'strata', producers, 10_000).rows_per_s));
  const overhead = rowOf(rows, 'strata', 1, 100).p50_ms - rowOf(rows, 'floor', 1, 100).p50_ms;
  const atLeast = (what, figure, bound) => [what, figure, `>= ${bound}`, figure >= bound];
  const atMost = (what, figure, bound) => [what, figure, `<= ${bound}`, figure <= bound];
  return [
    atLeast('100 rows, 8 producers: acks/s to the floor', strata.ratio_to_floor, 0.5),
    atLeast('the same to strata_copy', ratioTo('strata_copy'), 2),
    atLeast('the same to peer_python', ratioTo('peer_python'), 10),
    atLeast('10,000 rows: million rows/s, the best, halved', rate / kCores / 1e6, 0.5),
    atMost('100 rows, 1 producer: p50 over the floor, ms', overhead, 0.3),
    atLeast('encoder alone, 100 rows: COPY takes so many times as long',
            encoder.rows_100.copy_to_encode, 25),
    atMost('RSS with 1,000 idle connections, MB', rss.idle_1000, 100),
    atMost('RSS at most under full load, MB', rss.load_peak, 300),
    atMost("weather data: file size to COPY's", encoder.weather.ratio, 1.1),
  ].filter(([, figure]) => figure !== undefined);
}

export function report(result) {
  const { machine, encoder, query, rss_mb: rss } = result;
  const lines = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.file_system}, Linux ${machine.kernel}; ` +
        `${machine.date}, commit ${machine.commit}; ${machine.rounds} rounds; ` +
        `load average ${machine.load_before} before, ${machine.load_by_round.join(', ')} in them`,
    '', ...landingLines(result.rows), '',
    '| part alone | 1 row | 100 rows | 10,000 rows |', '|---|---:|---:|---:|',
  ];
  for (const part of ['encode', 'copy', 'parse', 'body_digest', 'content_digest']) {
    const cells = kBatchRows.map((rows) => shown(encoder[`rows_${rows}`][`${part}_ms`], 4));
    lines.push(`| ${part}, ms | ${cells.join(' | ')} |`);
  }
  lines.push('', '| files | rows | count(*) ms | GROUP BY ms |', '|---:|---:|---:|---:|');
  for (const { files, rows, count_ms: count, group_ms: group } of query) {
    lines.push(`| ${shown(files)} | ${shown(rows)} | ${shown(count, 1)} | ${shown(group, 1)} |`);
  }
  lines.push(
      '', `start-up: ${result.start_ms.empty} ms on an empty root, ` +
          `${result.start_ms.files_11101} ms over 11,101 files`,
      `RSS in MB: ${shown(rss.no_connection)} without connections, ${shown(rss.idle_1000)} with ` +
          `1,000 idle ones (${shown(rss.idle_1000_with_workers)} with workers), at most ` +
          `${shown(rss.load_peak)} under load (${shown(rss.load_peak_with_workers)} with workers)`,
      `weather data: ${encoder.weather.strata_bytes} bytes, COPY ${encoder.weather.copy_bytes}`,
      '', '| goal | measured | bound | |', '|---|---:|---:|---|');
  for (const [what, figure, bound, reached] of goals(result)) {
    lines.push(`| ${what} | ${shown(figure, 2)} | ${bound} | ${reached ? 'yes' : 'NO'} |`);
  }
  for (const note of result.notes) lines.push('', note);
  return `${lines.join('\n')}\n`;
}
