// node bench/run.mjs PROGRAMS OUT.json: the whole benchmark, with the programs of a build folder;
// the table on stdout, the figures in OUT.json. scripts/bench calls it.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import {
  calibratePeer, measureLanding, removeFolder, sampleFiles,
} from './landing.mjs';
import { output } from './processes.mjs';
import { report } from './report.mjs';
import {
  measureIdle, measureParts, measureQueries, measureStart, measureWeather,
} from './single.mjs';
import { Strata, peerEnvironment } from './systems.mjs';

const [programs, out] = process.argv.slice(2).map((path) => resolve(path));
const rounds = Number(process.env.BENCH_ROUNDS || 5);
const parent = resolve(process.env.BENCH_FOLDER || 'build');
const kQuietLoad = 0.5;  // above it, somebody else is at work

const say = (text) => console.error(`bench: ${text}`);

async function describeMachine(notes) {
  const load = loadavg()[0];
  if (load > kQuietLoad) {
    notes.push(`The load average was ${load.toFixed(2)} at the start: these figures are noise.`);
  }
  return {
    cpu: cpus()[0].model,
    cores: cpus().length,
    memory_mb: Math.round(totalmem() / 1e6),
    kernel: release(),
    file_system: (await output('stat', ['-f', '-c', '%T', parent])).trim(),
    date: new Date().toISOString().slice(0, 10),
    commit: (await output('git', ['rev-parse', '--short', 'HEAD']).catch(() => 'unknown')).trim(),
    version: (await output(join(programs, 'strata'), ['--version'])).trim(),
    rounds,
    load_before: Number(load.toFixed(2)),
  };
}

/// The peer and the settings it is fastest with; nothing, and a note, where it cannot be had.
async function findPeer(context, notes) {
  if (process.env.BENCH_PEER === 'no') {
    notes.push('peer_python: skipped (BENCH_PEER=no).');
    return undefined;
  }
  try {
    say('peer_python: its packages, then its fastest settings');
    const { venv, versions } = await peerEnvironment();
    const tried = await calibratePeer({ ...context, peer: { venv } });
    const { writer, threads } = tried[0];
    notes.push(`peer_python: the fastest of ${tried.map(
        (one) => `${one.writer}/${one.threads} threads ${Math.round(one.acks_per_s)} acks/s`)
        .join(', ')}; ${versions.join(', ')}.`);
    return { venv, settings: { writer, threads } };
  } catch (error) {
    const reason = String(error.stderr || error.message).trim().split('\n').at(-1);
    notes.push(`peer_python: skipped, its Python packages are not to be had here (${reason}).`);
    return undefined;
  }
}

async function measureSingles(context) {
  say('the parts alone');
  const encoder = await measureParts(context.programs);
  say('queries, start-up, idle connections');
  const emptyRoot = join(context.work, 'empty');
  const start = { empty: await measureStart(context, emptyRoot) };
  const folder = join(context.work, 'queries');
  const strata = await new Strata({ program: join(context.programs, 'strata'), folder }).start();
  await strata.createKb();
  const query = await measureQueries(context, strata);
  encoder.weather = await measureWeather(context, strata);
  await strata.stop();
  start.files_11101 = await measureStart(context, folder);
  return { encoder, query, start, idle: await measureIdle(context) };
}

async function measure(work) {
  const notes = [];
  const machine = await describeMachine(notes);
  const context = { programs, work };
  const samples = await sampleFiles(context);
  context.peer = await findPeer(context, notes);
  const landing = await measureLanding(context, samples, rounds, say);
  const { encoder, query, start, idle } = await measureSingles(context);
  machine.load_by_round = landing.load;
  return {
    machine,
    rows: landing.rows,
    encoder,
    query,
    start_ms: start,
    rss_mb: {
      ...idle,
      load_peak: landing.memory.server,
      load_peak_with_workers: landing.memory.with_workers,
    },
    notes,
  };
}

mkdirSync(parent, { recursive: true });
// Everything on one file system, in fresh folders, and removed once, at the end: a removal spoils
// what is measured after it.
const work = mkdtempSync(join(parent, 'bench-data-'));
process.on('exit', () => removeFolder(work));
const result = await measure(work);
writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
process.stdout.write(report(result));
