// What is measured once: the parts alone, the size of the weather data's file, queries over many
// files, start-up, and the memory of idle connections.
import { statSync, readdirSync } from 'node:fs';
import { createConnection } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load, median } from './landing.mjs';
import { childrenOf, memoryMegabytes, output, until } from './processes.mjs';
import { Strata } from './systems.mjs';

const repository = fileURLToPath(new URL('../', import.meta.url));
const kQueryFiles = [1, 100, 1_000, 10_000];
const kQueryRuns = 7;
const kStarts = 5;
const kIdleConnections = 1_000;
const kZstdLevel = 1;  // as in src/parquet/column_encoder.h

const round3 = (number) => Number(number.toFixed(3));

/// Milliseconds by part and rows of a batch, medians of Google Benchmark's repetitions.
export async function measureParts(programs) {
  const printed = await output(join(programs, 'bench/parts'), [
    '--benchmark_format=json', '--benchmark_repetitions=5', '--benchmark_min_time=0.1',
    '--benchmark_report_aggregates_only=true', '--benchmark_enable_random_interleaving=true',
  ]);
  const kNanoseconds = 1e6;
  const parts = {};
  for (const run of JSON.parse(printed).benchmarks) {
    if (run.aggregate_name !== 'median') continue;
    const [name, rows] = run.run_name.split('/');
    parts[`rows_${rows}`] ??= {};
    parts[`rows_${rows}`][`${name}_ms`] = run.cpu_time / kNanoseconds;
    if (run.file_bytes) parts[`rows_${rows}`][`${name}_file_bytes`] = run.file_bytes;
  }
  for (const part of Object.values(parts)) part.copy_to_encode = part.copy_ms / part.encode_ms;
  return parts;
}

const batchFiles = (folder) => readdirSync(folder)
    .filter((name) => name.endsWith('.parquet') && !name.startsWith('.'))
    .map((name) => join(folder, name));

/// Has DuckDB copy a landed file, metadata and all, with the same zstd level.
async function copiedBytes(file, target) {
  const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
  const reader = await connection.runAndReadAll(
      `SELECT decode(key), decode(value) FROM parquet_kv_metadata(${quoted(file)})`);
  const metadata = reader.getRows().map(([key, value]) => `${key}: ${quoted(value)}`);
  await connection.run(
      `COPY (SELECT * FROM read_parquet(${quoted(file)})) TO ${quoted(target)} (FORMAT PARQUET, ` +
      `COMPRESSION zstd, COMPRESSION_LEVEL ${kZstdLevel}, KV_METADATA {${metadata.join(', ')}})`);
  return statSync(target).size;
}

/// The weather data of `make run`, landed, against DuckDB's COPY of the same rows.
export async function measureWeather({ programs, work }, strata) {
  const samples = join(work, 'samples');
  await output(process.execPath, [join(repository, 'scripts/sample_data.mjs'), samples]);
  await strata.createStream('weather');
  await output(join(programs, 'strata'), [
    'send', 'bench', 'weather', join(samples, 'seattle-weather.csv'), '--format', 'csv',
    '--url', `http://127.0.0.1:${strata.port}`,
  ]);
  let strataBytes = 0, copyBytes = 0;
  for (const [index, file] of batchFiles(strata.dataFolder('weather')).entries()) {
    strataBytes += statSync(file).size;
    copyBytes += await copiedBytes(file, join(work, `weather-${index}.parquet`));
  }
  return { strata_bytes: strataBytes, copy_bytes: copyBytes, ratio: strataBytes / copyBytes };
}

/// Milliseconds of a whole answer over HTTP, by number of files.
export async function measureQueries({ programs }, strata) {
  const queries = [];
  for (const files of kQueryFiles) {
    const stream = `files_${files}`;
    await strata.createStream(stream);
    await load(programs, strata, stream, {
      '--rows': 100, '--posts': files, '--producers': Math.min(8, files), '--seconds': 120,
      '--warm-up': 0,
    });
    await until(async () => (await strata.receiver(stream)).view.state === 'ready', 'the view');
    const view = `raw_extracted.stream_${stream}`;
    const count = await timed(strata, `SELECT count(*) FROM ${view}`);
    const sum = await timed(
        strata, `SELECT site, avg(TRY_CAST(reading_celsius AS DOUBLE)) FROM ${view} GROUP BY site`);
    queries.push({ files, rows: files * 100, count_ms: count, group_ms: sum });
  }
  return queries;
}

async function timed(strata, sql) {
  const milliseconds = [];
  for (let run = 0; run <= kQueryRuns; ++run) {
    const begun = performance.now();
    await strata.query(sql);
    if (run > 0) milliseconds.push(performance.now() - begun);  // the first one warms up
  }
  return round3(median(milliseconds));
}

/// From the start of the process to a ready server, over this root.
export async function measureStart({ programs }, folder) {
  const milliseconds = [];
  for (let run = 0; run < kStarts; ++run) {
    const strata = await new Strata({ program: join(programs, 'strata'), folder }).start();
    milliseconds.push(strata.startMilliseconds);
    await strata.stop();
  }
  return round3(median(milliseconds));
}

function openIdle(port) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.on('error', reject);
    socket.once('data', () => resolve(socket));  // answered once, then silent
    socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  });
}

/// Megabytes of a server that has landed something, then holds idle connections.
export async function measureIdle({ programs, work }) {
  const strata = await new Strata({
    program: join(programs, 'strata'), folder: join(work, 'idle'),
  }).start();
  await strata.createKb();
  await strata.createStream('s');
  await load(programs, strata, 's', { '--rows': 100, '--posts': 100, '--producers': 8 });
  const resident = () => round3(memoryMegabytes(strata.pid, 'VmRSS'));
  const before = resident();
  const sockets = [];
  for (let count = 0; count < kIdleConnections; ++count) sockets.push(await openIdle(strata.port));
  const idle = resident();
  const workers = childrenOf(strata.pid).map((pid) => memoryMegabytes(pid, 'VmRSS'));
  for (const socket of sockets) socket.destroy();
  await strata.stop();
  return {
    no_connection: before,
    idle_1000: idle,
    idle_1000_with_workers: round3(workers.reduce((sum, next) => sum + next, idle)),
  };
}
