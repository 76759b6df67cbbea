// Processes that race on one stream folder, without any crash: the same ids at once, while batches
// are folded into the ledger or `data/` is exchanged; changes of a kb's generations while old ones
// are collected. And processes that are killed between the claim and the name. Each mutant of the
// protocol that shows here has to be caught with every seed.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { count, kSeed } from '../e2e/given.mjs';
import { judge, memoryFolder, readAcks, report, run, seeds, shows, withFolder } from './rig.mjs';

const kProcesses = 2;
const kKillPointExit = 85;

/// Runs the same command in several processes; answers their ends and what they acknowledged.
async function together(folder, mode, seed, args) {
  const root = join(folder, 'root');
  mkdirSync(root);
  writeFileSync(join(folder, 'barrier'), Buffer.alloc(8));
  const ends = await Promise.all(Array.from({ length: kProcesses }, (_, n) => run('publish_rig', [
    mode, root, '--process', `rig-${n}`, '--acks', join(folder, `acks-${n}`),
    '--barrier', join(folder, 'barrier'), '--parties', `${kProcesses}`, '--seed', `${seed + n}`,
    ...(n === 0 ? args : args.filter((word) => word !== '--exchange')),  // one compactor
  ])));
  const acks = ends.flatMap((_, n) => readAcks(join(folder, `acks-${n}`)));
  const problems = ends.filter(({ code }) => code !== 0).map(({ log }) => log.trim());
  return { root, acks, problems };
}

/// The same ids in every process: what is wrong afterwards, and how many rounds there were.
function race(seed, args) {
  return withFolder(async (folder) => {
    const { root, acks, problems } = await together(folder, 'land', seed, args);
    const survey = await run('publish_rig', ['survey', root, '--as-it-is']);
    if (survey.code !== 0) return { wrong: [...problems, survey.log] };
    const wrong = [...problems, ...judge(acks.map(({ id, file }) => [id, file]),
                                         JSON.parse(survey.out))];
    const landed = new Set();
    for (const { id, landing } of acks) {
      if (landing === 'landed' && landed.has(id)) wrong.push(`${id} landed a second time`);
      if (landing === 'landed') landed.add(id);
    }
    return { wrong, rounds: landed.size, replays: acks.length - landed.size };
  }, memoryFolder());
}

/// Every change that was acknowledged is in the newest generation, once.
function generations(seed, args) {
  return withFolder(async (folder) => {
    const runs = Array.from({ length: kProcesses }, (_, n) => n);
    const root = join(folder, 'root');
    mkdirSync(root);
    writeFileSync(join(folder, 'barrier'), Buffer.alloc(8));
    const ends = await Promise.all(runs.map((n) => run('publish_rig', [
      'generations', root, '--process', `rig-${n}`, '--acks', join(folder, `acks-${n}`),
      '--barrier', join(folder, 'barrier'), '--parties', `${kProcesses}`, '--seed', `${seed + n}`,
      '--ids', `p${n}-:0:25`, ...args,
    ])));
    const wrong = ends.filter(({ code }) => code !== 0).map(({ log }) => log.trim());
    const { out } = await run('publish_rig', ['newest', root]);
    const acked = runs.flatMap((n) => readAcks(join(folder, `acks-${n}`)));
    for (const { id } of acked) {
      const times = out.split('\n').filter((line) => line === `CREATE VIEW "${id}"`).length;
      if (times !== 1) wrong.push(`${id} is there ${times} times`);
    }
    return { wrong, rounds: acked.length };
  }, memoryFolder());
}

/// A process dies at each point of its publish; what it claimed has its name after recovery.
function killed(seed, args) {
  return withFolder(async (folder) => {
    const wrong = [];
    const points = ['publish:after_claim', 'publish:after_shard_sync'];
    for (const [n, point] of points.entries()) {
      const root = join(folder, `root-${n}`);
      mkdirSync(root);
      const acks = join(folder, `acks-${n}`);
      const died = await run('publish_rig', ['land', root, '--ids', 'k:0:9', '--acks', acks,
                                             '--seed', `${seed}`],
                             { STRATA_CRASH_AT: `${point}#${1 + (seed + n) % 8}` });
      assert.equal(died.code, kKillPointExit, died.log);
      const recovered = await run('publish_rig', ['recover', root, ...args]);
      assert.equal(recovered.code, 0, recovered.log);
      const survey = await run('publish_rig', ['survey', root]);
      wrong.push(...judge(readAcks(acks).map(({ id, file }) => [id, file]),
                          JSON.parse(survey.out)));
    }
    return { wrong, rounds: points.length };
  }, memoryFolder());
}

const kRounds = ['--ids', 'r:0:60', '--pause-us', '2000'];
const kFolds = [...kRounds, '--fold-percent', '60'];
const kExchanges = ['--ids', 'x:0:40', '--pause-us', '16000', '--exchange'];

test(`duplicates in ${kProcesses} processes land once, seed ${kSeed}`, async () => {
  const all = count('STRATA_DUPLICATES', 600);
  const seen = { rounds: 0, replays: 0 };
  for (let n = 0; seen.rounds < all; ++n) {
    const part = Math.min(300, all - seen.rounds);
    const { wrong, rounds, replays } = await race(kSeed + n, ['--ids', `d:0:${part}`]);
    assert.deepEqual(wrong, [], `seed ${kSeed + n}`);
    seen.rounds += rounds;
    seen.replays += replays;
  }
  assert.equal(seen.replays, seen.rounds * (kProcesses - 1));
  report({ suite: 'race', key: 'duplicates', fault: 'the same id in two processes at once',
           states: seen.rounds, wrong: 0 });
});

const kSuites = {
  folds: { what: 'the same ids while their claims are folded into the ledger', run: race,
           args: kFolds },
  exchanges: { what: 'the same ids while `data/` is exchanged', run: race, args: kExchanges },
  generations: { what: 'two writers of generations while old ones are collected',
                 run: generations, args: [] },
  killed: { what: 'killed between the claim and the name', run: killed, args: [] },
};
for (const [name, suite] of Object.entries(kSuites)) {
  test(`${suite.what}, seed ${kSeed}`, async () => {
    const runs = count('STRATA_RACES', 4);
    let rounds = 0;
    for (let n = 0; n < runs; ++n) {
      const seen = await suite.run(kSeed + n, suite.args);
      assert.deepEqual(seen.wrong, [], `seed ${kSeed + n}`);
      rounds += seen.rounds;
    }
    report({ suite: 'race', key: name, fault: suite.what, states: rounds, wrong: 0 });
  });
}

/// So many runs a seed, until one shows the mutant.
const kRuns = 4;
/// A change that another replaced, or a tombstone over the only generation there was to read.
const kGenerationLost =
    /^p\d-\d+( is there 0 times|: NotFound This knowledgebase has no version to read;.*)$/;
/// What each one shows itself by.
const kMutants = {
  'replacing-rename': { suite: kSuites.generations, verdict: kGenerationLost },
  'ledger-before-claim': {
    suite: kSuites.folds,
    verdict: new RegExp('^((duplicated|another file): r\\d+|' +
                        'r\\d+( landed a second time|\\.parquet has no claim))$'),
  },
  'no-identity-check': { suite: kSuites.exchanges,
                         verdict: /^(lost: x\d+|the claim x\d+ has no name in data\/)$/ },
  'sweep-deletes-claimed': { suite: kSuites.killed,
                             verdict: /^the claim k\d+ has no name in data\/$/ },
  'generations-free-numbers': { suite: kSuites.generations, verdict: kGenerationLost },
};

async function isCaught(mutant, { suite, verdict }, seed) {
  for (let n = 0; n < kRuns; ++n) {
    const { wrong } = await suite.run(seed * kRuns + n, [...suite.args, '--mutant', mutant]);
    if (shows(wrong, verdict)) return true;
  }
  return false;
}

for (const [mutant, how] of Object.entries(kMutants)) {
  test(`caught: ${mutant}, with each of ${seeds.length} seeds from ${kSeed}`, async () => {
    const missed = [];
    for (const seed of seeds) if (!await isCaught(mutant, how, seed)) missed.push(seed);
    report({ suite: 'race', key: mutant, mutant, caught: seeds.length - missed.length,
             of: seeds.length });
    assert.deepEqual(missed, []);
  });
}

// A rig that ended because it knew no such mutant was once a catch.
test('a mutant that does not exist is not caught', async () => {
  for (const how of Object.values(kMutants)) {
    await assert.rejects(isCaught('made-up', how, kSeed), /no mutant is called made-up/);
  }
});
