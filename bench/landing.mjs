// Acknowledged batches a second: every system over every number of producers and size of batch,
// round after round, so that what the machine does beside is shared by all.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { childrenOf, memoryMegabytes, output } from './processes.mjs';
import { Peer, Strata } from './systems.mjs';

export const kProducers = [1, 8, 32];
export const kBatchRows = [1, 100, 10_000];
const kFloorThreadsToo = [8, 16];
const kWindowSeconds = 2;
const kFloorWindowSeconds = 1;
const kAcksMax = 6_000;  // of one window: the disk is not to fill up with files of one row
const kSampleFiles = 64;
const kCalibrationSeconds = 1;

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]
                                 : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const unique = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);

/// One run of the load generator against one stream.
export async function load(programs, system, stream, options) {
  const args = Object.entries({
    '--port': system.port, '--path': system.ingestPath(stream), '--id-prefix': stream,
    '--server': system.pid, ...options,
  }).flat().map(String);
  return JSON.parse(await output(join(programs, 'bench/load_generator'), args));
}

/// Files that Strata wrote, per size of batch: what the floor writes again.
export async function sampleFiles({ programs, work }) {
  const strata = await new Strata({
    program: join(programs, 'strata'), folder: join(work, 'sample'),
  }).start();
  await strata.createKb();
  const folders = {};
  for (const rows of kBatchRows) {
    const stream = `rows_${rows}`;
    await strata.createStream(stream);
    await load(programs, strata, stream, { '--rows': rows, '--posts': kSampleFiles });
    folders[rows] = strata.dataFolder(stream);
  }
  await strata.stop();
  return folders;
}

/// The peer's settings under which it is fastest, tried out on this machine.
export async function calibratePeer({ programs, work, peer }) {
  const tried = [];
  for (const writer of ['copy', 'pyarrow']) {
    for (const threads of [1, 4]) {
      const settings = { writer, threads };
      const folder = join(work, `calibration-${writer}-${threads}`);
      const system = await new Peer({ venv: peer.venv, folder, settings }).start();
      const { acks_per_s } = await load(programs, system, 's', {
        '--rows': 100, '--producers': 8, '--seconds': kCalibrationSeconds, '--acks': kAcksMax,
      });
      await system.stop();
      tried.push({ ...settings, acks_per_s });
    }
  }
  return tried.sort((a, b) => b.acks_per_s - a.acks_per_s);
}

async function startAll({ programs, work, peer }, round) {
  const program = join(programs, 'strata');
  const folder = (name) => join(work, `round-${round}`, name);
  const systems = [
    ['strata', new Strata({ program, folder: folder('strata') })],
    ['strata_copy', new Strata({
      program, folder: folder('strata_copy'), env: { STRATA_ENCODER: 'copy' },
    })],
  ];
  if (peer) {
    systems.push(['peer_python', new Peer({
      venv: peer.venv, folder: folder('peer_python'), settings: peer.settings,
    })]);
  }
  for (const [, system] of systems) {
    await system.start();
    await system.createKb();
  }
  return systems;
}

/// The most a server has used, without and with its workers.
function peakMemory(system) {
  const own = memoryMegabytes(system.pid, 'VmHWM');
  const workers = childrenOf(system.pid).map((pid) => memoryMegabytes(pid, 'VmHWM'));
  return { server: own, with_workers: workers.reduce((sum, next) => sum + next, own) };
}

async function floorRuns({ programs, work }, samples, round, rows) {
  const runs = [];
  for (const threads of unique([...kProducers, ...kFloorThreadsToo])) {
    const folder = join(work, `round-${round}`, `floor-${rows}-${threads}`);
    const line = await output(join(programs, 'bench/floor'), [
      '--files', samples[rows], '--folder', folder, '--threads', String(threads),
      '--seconds', String(kFloorWindowSeconds), '--acks', String(kAcksMax),
    ]);
    runs.push({ batch_rows: rows, ...JSON.parse(line) });
  }
  return runs;
}

/// The floor for so many producers: the fastest of as many threads, 8 and 16. Its latencies are
/// those of as many threads as producers.
export function floorRow(runs, producers) {
  const allowed = runs.filter(({ threads }) => [producers, ...kFloorThreadsToo].includes(threads));
  const fastest = allowed.reduce((a, b) => (b.acks_per_s > a.acks_per_s ? b : a));
  const same = runs.find(({ threads }) => threads === producers);
  return {
    system: 'floor', producers, batch_rows: fastest.batch_rows, threads: fastest.threads,
    acks_per_s: fastest.acks_per_s, rows_per_s: fastest.acks_per_s * fastest.batch_rows,
    p50_ms: same.p50_ms, p99_ms: same.p99_ms, ratio_to_floor: 1,
  };
}

async function round(context, samples, number, say) {
  const systems = await startAll(context, number);
  const rows = [];
  const loads = [];
  for (const batchRows of kBatchRows) {
    const floors = await floorRuns(context, samples, number, batchRows);
    for (const producers of kProducers) {
      const floor = floorRow(floors, producers);
      rows.push(floor);
      // The one that goes first changes, so that none always meets a disk that another left busy.
      const turn = (number + rows.length) % systems.length;
      for (const [name, system] of [...systems.slice(turn), ...systems.slice(0, turn)]) {
        const stream = `p${producers}_r${batchRows}`;
        await system.createStream(stream);
        const measured = await load(context.programs, system, stream, {
          '--producers': producers, '--rows': batchRows, '--seconds': kWindowSeconds,
          '--acks': kAcksMax,
        });
        rows.push({
          system: name, ...measured, ratio_to_floor: measured.acks_per_s / floor.acks_per_s,
        });
      }
      loads.push(loadavg()[0]);
    }
    say(`round ${number}: ${batchRows} rows a batch done, load average ${loads.at(-1)}`);
  }
  const memory = peakMemory(systems[0][1]);
  for (const [, system] of systems) await system.stop();
  return { rows, memory, load: Math.max(...loads) };
}

/// Medians over the rounds, figure by figure.
export function medians(rounds) {
  const first = rounds[0].rows;
  return first.map((row, index) => Object.fromEntries(Object.entries(row).map(([name, value]) => {
    const numbers = rounds.map(({ rows }) => rows.find(
        (other) => other.system === row.system && other.producers === row.producers &&
            other.batch_rows === row.batch_rows)[name]);
    const isFigure = typeof value === 'number' && !['producers', 'batch_rows'].includes(name);
    return [name, isFigure ? Number(median(numbers).toFixed(3)) : first[index][name]];
  })));
}

/// { rows, memory, load }: medians, the highest memory of Strata's server, load averages by round.
export async function measureLanding(context, samples, rounds, say) {
  const done = [];
  for (let number = 1; number <= rounds; ++number) {
    done.push(await round(context, samples, number, say));
  }
  const highest = (name) => Math.max(...done.map(({ memory }) => memory[name]));
  return {
    rows: medians(done),
    memory: { server: highest('server'), with_workers: highest('with_workers') },
    load: done.map(({ load }) => load),
  };
}

export const removeFolder = (folder) => rmSync(folder, { recursive: true, force: true });
