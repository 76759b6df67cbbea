// Faults put into a running server by strace: a call that fails, a call that is slow, death at a
// call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childrenOf, until } from '../e2e/harness.mjs';
import { below } from '../e2e/random.mjs';

/// Every call by which a file or a name is made, changed, synced or looked at, and the one that
/// answers: before it all is durable and nobody was told.
export const kFileCalls = [
  'openat', 'newfstatat', 'pread64', 'pwrite64', 'close', 'fsync', 'fdatasync', 'linkat',
  'renameat', 'renameat2', 'rename', 'unlinkat', 'unlink', 'mkdirat', 'symlinkat', 'fchmodat',
  'getdents64', 'fcntl', 'write', 'sendto',
];

const attached = new Set();
process.on('exit', () => { for (const child of attached) child.kill('SIGTERM'); });

function startStrace(args) {
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', 'strace', ...args],
                      { stdio: ['ignore', 'ignore', 'pipe'] });
  attached.add(child);
  child.log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { child.log += text; });
  child.ended = new Promise((resolve) => {
    child.on('close', (code, signal) => {
      attached.delete(child);
      resolve({ code, signal, log: child.log });
    });
  });
  return child;
}

let traces = 0;
async function attach(pid, args) {
  const trace = join(tmpdir(), `strata-trace-${process.pid}-${++traces}`);
  const child = startStrace(['-f', '-p', `${pid}`, '-o', trace, ...args]);
  await until(() => /attached/.test(child.log) || child.exitCode !== null, 'strace -p');
  return async () => {
    child.kill('SIGINT');
    await child.ended;
    const text = existsSync(trace) ? readFileSync(trace, 'utf8') : '';
    rmSync(trace, { force: true });
    return text.split('\n');
  };
}

/// Injects `what` into `call` of every thread of `pid` until detach() is called, which answers the
/// calls that it hit, with their paths. `what`: strace(1), "Tampering"; `when=N` counts each call
/// in each thread.
export async function inject(pid, call, what) {
  const args = ['-y', '-e', `trace=${call}`, '-e', `inject=${call}:${what}`];
  const end = await attach(pid, args);
  const hit = (line) => /INJECTED|DELAYED/.test(line);
  return { detach: async () => (await end()).filter(hit) };
}

/// The most often that one thread made each call, out of a trace.
function countsOf(lines) {
  const byThread = new Map();
  for (const line of lines) {
    const [, thread, call] = /^(\d+) +([a-z0-9]+)\(/.exec(line) ?? [];
    if (call === undefined) continue;
    const key = `${thread} ${call}`;
    byThread.set(key, (byThread.get(key) ?? 0) + 1);
  }
  const counts = new Map();
  for (const [key, times] of byThread) {
    const call = key.split(' ')[1];
    counts.set(call, Math.max(counts.get(call) ?? 0, times));
  }
  return counts;
}

/// The file calls of a running server while `work` goes on.
export async function countCalls(pid, work) {
  const end = await attach(pid, ['-e', `trace=${kFileCalls.join()}`]);
  await work();
  return countsOf(await end());
}

/// The file calls of a command up to `enough` or its end.
export async function countCommand(command, enough) {
  const trace = join(tmpdir(), `strata-trace-${process.pid}-${++traces}`);
  const args = ['-f', '-q', '-o', trace, '-e', `trace=${kFileCalls.join()}`];
  await runStrace([...args, ...command], enough);
  const lines = readFileSync(trace, 'utf8').split('\n');
  rmSync(trace, { force: true });
  return countsOf(lines);
}

/// Runs a command with `what` injected into `call`, to its end or until its log says `enough`;
/// answers its log and exit code. Death at an injected call is an end.
export async function runInjected(command, call, what, enough) {
  return runStrace(['-f', '-q', '-o', '/dev/null', '-e', `trace=${call}`,
                    '-e', `inject=${call}:${what}`, ...command], enough);
}

async function runStrace(args, enough) {
  const child = startStrace(args);
  let over = false;
  child.ended.then(() => { over = true; });
  await until(() => over || enough?.test(child.log), args.join(' '));
  if (!over) {
    for (const pid of childrenOf(child.pid)) process.kill(pid, 'SIGTERM');
  }
  const { code, log } = await child.ended;
  return { code, log, reached: enough?.test(log) ?? false };
}

/// What every run of the same work may make more of than the counted one.
const kBeyond = 3;

/// Tries `at(call, n)` for the calls that were counted: `most` of them, picked by `random`, or,
/// when `most` is 0, every one, and a few beyond for as long as they fire. Answers how often they
/// did.
export async function sweep(counts, most, random, at) {
  let fired = 0;
  if (most === 0) {
    for (const [call, times] of counts) {
      for (let n = 1; n <= times + kBeyond; ++n) {
        if (await at(call, n)) ++fired;
        else if (n > times) break;
      }
    }
    return fired;
  }
  const points = [...counts].flatMap(
      ([call, times]) => Array.from({ length: times }, (_, n) => [call, n + 1]));
  for (let k = 0; k < most && points.length > 0; ++k) {
    const [[call, n]] = points.splice(below(random, points.length), 1);
    if (await at(call, n)) ++fired;
  }
  return fired;
}
