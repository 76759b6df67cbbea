// Three nodes, one root, a network namespace of their own: clients send batches while nodes are cut
// off from Redis and PostgreSQL, paused past the lock's life, killed and restarted, and the
// services too. Afterwards the log of what clients were told is held against what is there.
// STRATA_NODES_BATCHES, STRATA_NODES_EVERY=1: more of it (`make crash`).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { report, skipFor } from '../crash/rig.mjs';
import { count, kSeed } from '../e2e/given.mjs';
import { until } from '../e2e/harness.mjs';
import { randomFrom } from '../e2e/random.mjs';
import { servicesMissing } from '../e2e/services.mjs';
import { Cluster, kKbs } from './cluster.mjs';
import { Faults, kLockMilliseconds, nameOf, schedule } from './faults.mjs';
import { Load } from './load.mjs';
import { againInOwnNetwork, inOwnNetwork, networkObstacle } from './network.mjs';
import { OpenedGenerations, viewOf } from './outside.mjs';
import { problemsOf } from './verdict.mjs';

const kBatches = count('STRATA_NODES_BATCHES', 1500);
const kEvery = process.env.STRATA_NODES_EVERY === '1';
const kKnownStreamsPerKb = 3;

const kRow = {
  suite: 'nodes', key: 'three',
  fault: 'three nodes under clients, cut off from services, paused, killed',
};

/// Streams whose views are there from the start.
async function knownStreams(load, random) {
  for (const kb of kKbs) {
    for (let n = 0; n < kKnownStreamsPerKb; ++n) {
      const target = await load.newStream(kb, random);
      await load.land(load.batch(target), random);
      for (const { server } of load.cluster.nodes) {
        await until(async () => (await server.query(
            kb, `SELECT count(*) FROM ${viewOf(target.stream)}`)).status === 200,
                    'the view');
      }
      load.known.push(target);
      load.open(target);
    }
  }
}

async function run(cluster, random) {
  const load = new Load(cluster, kSeed);
  const faults = new Faults(cluster, load, random);
  await knownStreams(load, random);
  // Of one kb generations are collected, of the other all are kept.
  const generations = new Map(kKbs.map((kb) => [kb, new OpenedGenerations(
      cluster.nodes[0].server.kbFolder(kb), { collected: kb === 'file' })]));
  const steps = schedule(random, cluster.nodes, kEvery);
  await load.during(async () => {
    for (const [n, step] of steps.entries()) {
      console.log(`${n + 1} of ${steps.length}: ${step.map(nameOf).join(', ')}`);
      await Promise.all([faults.happen(step), load.more(Math.ceil(kBatches / steps.length))]);
      for (const one of generations.values()) await one.open();
    }
  });
  await cluster.whole();
  return { load, faults, problems: await problemsOf(cluster, load, generations) };
}

if (inOwnNetwork) {
  test(`${kBatches} batches, seed ${kSeed}`, async () => {
    process.env.STRATA_REDIS_TTL_MS = `${kLockMilliseconds}`;
    const cluster = await Cluster.start();
    let wrong = 1;  // a run that does not come to its end
    let also = {};
    let states = 1;
    try {
      const { load, faults, problems } = await run(cluster, randomFrom(kSeed));
      const landed = load.targets.reduce((sum, { batches }) => sum + batches.size, 0);
      ({ faults: states } = faults.counts);
      also = { 'while a view was made': faults.counts['while publishing'],
               outages: faults.counts.outages,
               'batches landed in outages': load.windows.reduce((sum, one) => sum + one.landed, 0),
               'batches landed': landed, sends: load.sends, streams: load.targets.length };
      console.log(states, 'faults', also);
      for (const { what, landed: during } of load.windows) console.log(`${what}: ${during}`);
      wrong = problems.length;
      assert.deepEqual(problems.slice(0, 20), []);
      assert.ok(landed >= kBatches);
      await cluster.end();
    } finally {
      report({ ...kRow, states, also, wrong });
    }
  });
} else {
  const obstacle = servicesMissing || networkObstacle();
  test('in a network of their own', {
    skip: skipFor(obstacle, 'three nodes in a network namespace of their own', kRow),
  }, () => againInOwnNetwork(fileURLToPath(import.meta.url)));
}
