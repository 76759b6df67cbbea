// What the kernel saw the server and its workers open, from their first call to their last: only
// the server opens the kb lock.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, missing, program, startWith, until } from './harness.mjs';

const kKb = 'demo';
const kStrace = '/usr/bin/strace';
const kCalls = 'execve,clone,clone3,fork,vfork,open,openat,openat2,creat';

/// A reason to skip, or false: strace may be there and still not be allowed to trace.
function cannotTrace() {
  const absent = missing(kStrace);
  if (absent) return absent;
  const { status, stderr } = spawnSync(kStrace, ['-D', '-o', '/dev/null', '/bin/true']);
  if (status === 0) return false;
  assert.ok(process.env.STRATA_REQUIRE_ALL !== '1', `strace may not trace: ${stderr}`);
  return `strace may not trace: ${stderr}`;
}

/// A program that runs strata under strace, which writes `trace.<thread>` files into `folder`. With
/// -D it is strata that the starter's signals reach.
function tracedProgram(folder) {
  const file = join(folder, 'traced');
  writeFileSync(file, `#!/bin/sh\nexec ${kStrace} -D -ff -y -s 4096 -e trace=${kCalls} ` +
                      `-o '${join(folder, 'trace')}' '${program}' "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

/// The lines of each traced process: those of its threads together, by the id it was started as.
function readTraces(folder) {
  const linesOf = (name) => readFileSync(join(folder, name), 'utf8').split('\n');
  const threads = new Map(readdirSync(folder).filter((name) => name.startsWith('trace.')).map(
      (name) => [name.slice('trace.'.length), linesOf(name)]));
  const makerOf = new Map([...threads].flatMap(([thread, lines]) => lines.flatMap((line) => {
    const made = /^clone3?\(.*CLONE_THREAD.* = (\d+)$/.exec(line);
    return made ? [[made[1], thread]] : [];
  })));
  const processOf = (thread) => (makerOf.has(thread) ? processOf(makerOf.get(thread)) : thread);
  const processes = new Map();
  for (const [thread, lines] of threads) {
    const process = processOf(thread);
    processes.set(process, [...(processes.get(process) ?? []), ...lines]);
  }
  return processes;
}

const isOpen = (line) => /^(open|openat|openat2|creat)\(/.test(line);
const isLock = (line) => isOpen(line) && /[/"]\.lock"/.test(line);
const opened = (lines, path) => lines.some((line) => isOpen(line) && path.test(line));

test('only the server opens the kb lock, no worker does', { skip: cannotTrace() }, async () => {
  const folder = freshFolder();
  const server = await startWith(kKb, ['s', 'other'], {
    program: tracedProgram(folder),
    // The leak checker is a tracer too, and there can be one only.
    env: { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0` },
  });
  for (const stream of ['s', 'other']) {
    await server.land(kKb, stream, [{ a: 1 }], `${stream}-batch`);
    const isReady = async () => (await server.receiver(kKb, stream)).view.state === 'ready';
    await until(isReady, 'the view');
    assert.deepEqual(await server.rows(kKb, `SELECT a FROM raw_extracted.stream_${stream}`),
                     [['1']]);
  }
  const { pid } = server;
  await server.stop();
  // strace writes on for a moment after the last of them has ended.
  await until(() => /^\+\+\+ exited with 0/m.test(readFileSync(`${folder}/trace.${pid}`, 'utf8')),
              'the end of the trace');

  const traces = readTraces(folder);
  const ofServer = traces.get(String(pid));
  assert.ok(opened(ofServer, /\/kb\/demo>, "\.lock"/), 'the trace shows the server open the lock');
  const workers = [...traces.values()].filter((lines) => /^execve\(.*, \["[^"]*", "worker"\]/m.test(
      lines.join('\n')));
  assert.equal(traces.size, workers.length + 1, 'every traced process is known');
  const ddl = workers.filter((lines) => opened(lines, /\/staging\/[^"/]+\/copy\.duckdb"/));
  const queries = workers.filter((lines) => opened(lines, /\/data\/[^"/]+\.parquet"/) &&
                                            opened(lines, /\/generations\/\d+\.duckdb"/));
  // The empty first generation and one for each stream; a worker runs DDL once.
  assert.equal(ddl.length, 3);
  assert.ok(queries.length > 0, 'the trace shows a worker read');
  assert.deepEqual(workers.flatMap((lines) => lines.filter(isLock)), []);
});
