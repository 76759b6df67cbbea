// A backup taken while clients land batches, restored under another root and another kb id with
// the original out of reach: every batch acknowledged before it began is there, nothing is torn or
// twice, and what is not there can be sent again.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { check, History, kNothingWrong, readView, sendLogged } from './checker.mjs';
import {
  dumpCatalogs, freshFolder, restoreCatalogs, run, start, startWith,
} from './harness.mjs';
import { countStream, verifyRoot } from './independent.mjs';

const kStreams = ['payroll', 'sensors'];
const kClients = 4;

const rowsOf = (id) => [1, 2, 3].map((n) => ({ n: `${n}`, id, [`of_${id.slice(0, 2)}`]: 'x' }));

test('a backup under load, restored elsewhere', async (t) => {
  const original = await startWith('demo', kStreams);
  const histories = Object.fromEntries(kStreams.map((stream) => [stream, new History()]));
  let ended = false;
  const client = async (number) => {
    for (let n = 0; !ended; ++n) {
      const stream = kStreams[n % kStreams.length];
      const id = `c${number}-${n}`;
      const batch = { kb: 'demo', stream, id, rows: rowsOf(id) };
      const answer = await sendLogged(histories[stream], original, batch);
      assert.equal(answer.status, 200, answer.text);
    }
  };
  const clients = Array.from({ length: kClients }, (_, number) => client(number));
  const landed = () => kStreams.flatMap((stream) => histories[stream].outcomes('ok')).length;
  while (landed() < 100) await new Promise((resolve) => setImmediate(resolve));

  const before = Object.fromEntries(kStreams.map((stream) =>
      [stream, new Set(histories[stream].outcomes('ok').map(({ id }) => id))]));
  const target = join(freshFolder(), 'demo-backup');
  const backup = await run(['backup', 'demo', target, '--data', original.data]);
  const dump = dumpCatalogs(original.data);
  const during = landed();
  while (landed() < during + 50) await new Promise((resolve) => setImmediate(resolve));
  ended = true;
  await Promise.all(clients);
  assert.equal(backup.code, 0, backup.log);
  assert.match(backup.out, /Backed up 'demo' into .*: 2 streams, \d+ batches, \d+ rows\./);
  await original.stop();

  const data = freshFolder();
  mkdirSync(join(data, 'kb'), { recursive: true });
  renameSync(target, join(data, 'kb/restored'));
  renameSync(original.data, `${original.data}.away`);
  restoreCatalogs(data, dump);
  const restored = await start({ data });

  for (const stream of kStreams) {
    const seen = await readView(restored, 'restored', stream);
    const acknowledged = before[stream];
    const missing = [...acknowledged].filter((id) => !seen.has(id));
    assert.deepEqual(missing, [], 'acknowledged before the backup began');
    // What landed meanwhile may be missing, but is never torn, twice or somebody else's.
    const { lost, ...others } = check(histories[stream], seen);
    const { lost: none, ...nothing } = kNothingWrong;
    assert.deepEqual(others, nothing);
    assert.deepEqual(lost.filter((id) => acknowledged.has(id)), none);
    t.diagnostic(`${stream}: ${seen.size} batches in the backup, ${lost.length} landed later`);

    // Every client sends all it has once more: then the copy has all of it, once.
    for (const { id } of histories[stream].outcomes('ok')) {
      const batch = { kb: 'restored', stream, id, rows: rowsOf(id) };
      const answer = await sendLogged(histories[stream], restored, batch);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.replayed, seen.has(id), id);
    }
    assert.deepEqual(check(histories[stream], await readView(restored, 'restored', stream)),
                     kNothingWrong);
    const files = await restored.rows(
        'restored', `SELECT DISTINCT filename FROM raw_extracted.stream_${stream}`);
    assert.ok(files.every(([file]) => file.startsWith(data)), 'no row of the original is read');
    const { files: count, rows, bytes } = await restored.receiver('restored', stream);
    assert.deepEqual({ files: count, rows, bytes },
                     await countStream(restored.streamFolder('restored', stream)));
  }
  const ready = kStreams.map((stream) => [`raw_extracted.stream_${stream}`, `stream:${stream}`,
                                          'ready']);
  assert.deepEqual(await restored.rows('restored', 'SELECT "table", source, state ' +
                                                   'FROM _strata_manifest ORDER BY "table"'),
                   ready);
  // Immutable files keep the name of the kb they landed in.
  const { problems } = await verifyRoot(data);
  assert.deepEqual(problems.filter((problem) => !/kb says demo, and is/.test(problem)), []);
  rmSync(`${original.data}.away`, { recursive: true });
});

test('what a backup refuses it says, and leaves nothing behind', async () => {
  const server = await startWith('demo', ['s']);
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  const folder = freshFolder();
  const cases = [
    [['backup', 'demo', folder, '--data', server.data], /Something stands at the backup's place/],
    [['backup', 'none', join(folder, 'b'), '--data', server.data], /no knowledgebase 'none'/],
    [['backup', 'demo', join(folder, 'b'), '--data', folder], /no Strata root there/],
    [['backup', 'demo', join(folder, 'no/b'), '--data', server.data], /is not there/],
    [['backup', 'NOT AN ID', join(folder, 'b'), '--data', server.data], /NOT AN ID/],
  ];
  for (const [args, expected] of cases) {
    const refused = await run(args);
    assert.equal(refused.code, 2, refused.log);
    assert.match(refused.log, expected);
  }
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(existsSync(server.data));
});
