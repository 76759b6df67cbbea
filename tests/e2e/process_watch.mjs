// Watches which processes run below one process, from a thread of its own, so that a short-lived
// one is seen while the test waits for an answer.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { listedChildren, unlessGone } from './processes.mjs';

/// Starts watching the descendants of `root`. The answer's end() gives the commands that were seen,
/// each as its arguments joined by spaces, by process id.
export async function watchBelow(root) {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { root, stop } });
  const next = () => new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await next();  // the first look is done
  return {
    async end() {
      const seen = next();
      Atomics.store(stop, 0, 1);
      Atomics.notify(stop, 0);
      return seen;
    },
  };
}

function look(root, seen) {
  const open = listedChildren(root);
  while (open.length > 0) {
    const pid = open.pop();
    const command = unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '')
                        .split('\0').slice(0, -1).join(' ');
    if (command !== '') {
      if (!seen.has(pid)) seen.set(pid, new Set());
      seen.get(pid).add(command);
    }
    open.push(...listedChildren(pid));
  }
}

if (!isMainThread && workerData?.stop !== undefined) {
  const { root, stop } = workerData;
  const seen = new Map();
  look(root, seen);
  parentPort.postMessage('watching');
  while (Atomics.wait(stop, 0, 0, 1) === 'timed-out') look(root, seen);
  look(root, seen);
  parentPort.postMessage(new Map([...seen].map(([pid, commands]) => [pid, [...commands]])));
}
