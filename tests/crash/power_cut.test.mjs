// Power cuts, on ext4 and xfs: everything acknowledged before the cut is there byte for byte after
// the product's own recovery, nothing is there twice, nothing unreadable is shown, and every batch
// can be sent again. Mutants of the protocol have to be caught by the same states.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { count, kSeed } from '../e2e/given.mjs';
import { diskObstacle, judgeState, launch, linesOf, memoryFolder, programs, report, seeds, shows,
         skipFor, withFolder } from './rig.mjs';

const options = { skip: skipFor(diskObstacle(), 'power cuts', { suite: 'power', key: 'skipped' }) };

/// Runs states until `enough` says so; answers how many were seen and what is wrong with which.
async function states(seed, args, enough = () => false) {
  return withFolder(async (work) => {
    const child = launch('power_cut', [
      '--work', work, '--rig', join(programs, 'publish_rig'), '--recfs', join(programs, 'recfs'),
      '--seed', `${seed}`, ...args,
    ]);
    const seen = { states: 0, acked: 0, problems: [], wrong: [] };
    for await (const state of linesOf(child)) {
      seen.states += 1;
      seen.acked += state.acked.length;
      const problems = judgeState(state);
      seen.problems.push(...problems);
      if (problems.length > 0) {
        seen.wrong.push(`cut ${state.cut}, ${state.survivors}: ${problems.slice(0, 5).join('; ')}`);
      }
      if (enough(seen)) child.kill('SIGKILL');
    }
    const { code, signal, log } = await child.ended;
    if (!enough(seen)) assert.equal(code, 0, `${signal} ${log}`);
    return seen;
  }, memoryFolder());
}

/// What runs under the cuts: threads that land and fold; processes that race for the same ids.
const kWorkloads = {
  land: ['--threads', '4', '--batches', '60'],
  fold: ['--processes', '2', '--threads', '2', '--batches', '30', '--fold-percent', '40',
         '--pause-us', '500'],
  race: ['--processes', '2', '--duplicates', '--batches', '25', '--pause-us', '3000'],
};
const kExchange = {
  exchange: ['--processes', '2', '--duplicates', '--exchange', '--batches', '25', '--pause-us',
             '6000'],
};
const duringRecovery = (workloads) => Object.fromEntries(Object.entries(workloads).map(
    ([name, args]) => [name, [...args, '--during-recovery']]));

const kExt4 = count('STRATA_CUTS_EXT4', 90);
const kXfs = count('STRATA_CUTS_XFS', 24);
const kRecovery = count('STRATA_CUTS_RECOVERY', 20);
const kExchanges = count('STRATA_CUTS_EXCHANGE', 10);
const kSuites = [
  { key: 'ext4', what: 'on ext4', all: kExt4, types: ['ext4'], workloads: kWorkloads },
  { key: 'xfs', what: 'on xfs', all: kXfs, types: ['xfs'], workloads: kWorkloads },
  { key: 'recovery', what: 'while a recovery is under way', all: kRecovery,
    types: ['ext4', 'ext4', 'xfs'], workloads: duringRecovery({ ...kWorkloads, ...kExchange }) },
  { key: 'exchange', what: 'while `data/` is exchanged', all: kExchanges,
    types: ['ext4', 'ext4', 'xfs'], workloads: kExchange },
];
for (const { key, what, all, types, workloads } of kSuites) {
  test(`${all} power cuts ${what} lose nothing, seed ${kSeed}`, options, async () => {
    const names = Object.keys(workloads);
    const total = { states: 0, acked: 0 };
    // A recording serves so many cuts that most of its log is looked at.
    for (let n = 0; total.states < all; ++n) {
      const part = Math.min(Math.max(10, Math.ceil(all / 12)), all - total.states);
      const name = names[n % names.length];
      const type = types[n % types.length];
      const seen = await states(kSeed + n, ['--type', type, '--states', `${part}`,
                                            ...workloads[name]]);
      assert.deepEqual(seen.wrong, [], `${name}, ${type}, seed ${kSeed + n}`);
      total.states += seen.states;
      total.acked += seen.acked;
    }
    assert.ok(total.acked > all, 'batches were acknowledged before the cuts');
    report({ suite: 'power', key, fault: `power cut ${what}`, states: total.states,
             checked: total.acked, wrong: 0 });
  });
}

/// So many a seed, until one shows the mutant.
const kRecordings = 4;
/// What each one runs under, and what it shows itself by, before or after the retries.
const kMutants = {
  'no-directory-sync': {
    workload: ['--threads', '2', '--batches', '30'],
    verdict: /^(b\d+ landed a second time|after the \w+: (lost|another file): b\d+)$/,
  },
  'no-file-sync': {
    workload: ['--threads', '2', '--batches', '30'],
    verdict: new RegExp('^(b\\d+ again: Io|after the \\w+: ((lost|phantom|another file): b\\d+|' +
                        'the claim b\\d+ has no name in data/))$'),
  },
  'replay-without-sync': {
    workload: ['--processes', '3', '--duplicates', '--batches', '12', '--pause-us', '8000'],
    verdict: /^(b\d+ landed a second time|after the \w+: (lost|another file): b\d+)$/,
  },
  'claim-after-rename': {
    workload: ['--processes', '2', '--threads', '2', '--batches', '20', '--pause-us', '3000'],
    verdict: /^(b\d+ again: Degraded|after the \w+: b\d+\.parquet has no claim)$/,
  },
};

async function isCaught(mutant, { workload, verdict }, seed) {
  for (let n = 0; n < kRecordings; ++n) {
    const { problems } = await states(seed * kRecordings + n,
                                      ['--mutant', mutant, '--states', '40', ...workload],
                                      (seen) => seen.problems.length > 0);
    if (shows(problems, verdict)) return true;
  }
  return false;
}

for (const [mutant, how] of Object.entries(kMutants)) {
  test(`power cuts catch ${mutant} with each of ${seeds.length} seeds from ${kSeed}`, options,
       async () => {
    const missed = [];
    for (const seed of seeds) if (!await isCaught(mutant, how, seed)) missed.push(seed);
    report({ suite: 'power', key: mutant, mutant, caught: seeds.length - missed.length,
             of: seeds.length });
    assert.deepEqual(missed, []);
  });
}

test('a mutant that does not exist is not caught', options, async () => {
  await assert.rejects(isCaught('made-up', kMutants['no-file-sync'], kSeed),
                       /no mutant is called made-up/);
});

test('a state that could not be looked at is no catch', options, () => {
  for (const error of ['the disk could not be mounted', 'Io stat failed EIO']) {
    for (const { verdict } of Object.values(kMutants)) {
      assert.throws(() => shows(judgeState({ acked: [], error }), verdict), /not what/);
    }
  }
});
