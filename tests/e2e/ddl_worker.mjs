// The worker that runs a server's DDL, stopped where a test wants a writer that sleeps.
import { readdirSync, readlinkSync } from 'node:fs';
import { until } from './harness.mjs';
import { listedChildren, stateOf, unlessGone } from './processes.mjs';

export const hasPrivateCopyOpen = (pid) =>
    unlessGone(() => readdirSync(`/proc/${pid}/fd`), []).some(
        (fd) => unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '').includes('/staging/'));
export const isStopped = (pid) => stateOf(pid) === 'T';

/// Stops the worker that runs DDL for `server` where it has its private copy open. Answers its
/// process id, or nothing where it was too quick: `work`, which starts it, is over then.
export async function stopDdlWorker(server, work) {
  let over = false;
  const ended = work.finally(() => { over = true; });
  while (!over) {
    const worker = listedChildren(server.pid).find(hasPrivateCopyOpen);
    if (worker !== undefined) {
      process.kill(worker, 'SIGSTOP');
      await until(() => isStopped(worker), 'the stop');
      if (hasPrivateCopyOpen(worker)) return worker;
      process.kill(worker, 'SIGCONT');
      break;
    }
    await new Promise(setImmediate);
  }
  await ended;
  return undefined;
}
