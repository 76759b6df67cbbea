// A fixed rate of batches, and how long they took.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

export const shareOf = (times, share) => times.toSorted((a, b) => a - b)[
    Math.min(times.length - 1, Math.floor(times.length * share))];
export const shown = (milliseconds) => `${milliseconds.toFixed(2)} ms`;

/// Calls `send` `perSecond` times a second whatever the answers do, and answers how long each took,
/// in milliseconds; every answer has to be 200.
export async function ingest(send, perSecond, while_) {
  const times = [];
  const begun = performance.now();
  const landings = [];
  for (let sent = 0; while_(); ++sent) {
    const due = begun + sent * 1000 / perSecond;
    if (due > performance.now()) await sleep(due - performance.now());
    // From when it was due: a client that is late itself is late for the producer too.
    landings.push(send().then(({ status }) => {
      times.push([performance.now() - due, status]);
    }));
  }
  await Promise.all(landings);
  assert.ok(times.every(([, status]) => status === 200), 'every batch lands');
  return times.map(([time]) => time);
}
