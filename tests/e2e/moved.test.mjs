// A kb is a folder: copied under another root and name it answers its own rows, and replays stay
// replays although a copy has turned every hard link into a file.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, loseRootCatalog, start, startWith, until } from './harness.mjs';
import { countStream, verifyRoot } from './independent.mjs';

const kRows = [{ a: '1', b: 'x' }, { a: '2' }];

test('a copied kb under another root and name', async () => {
  const original = await startWith('demo', ['s']);
  await original.land('demo', 's', kRows, 'b1');
  const first = await original.land('demo', 's', [{ a: '3' }], 'b2');
  await original.stop();

  const data = join(freshFolder(), "it's a [root] with *");
  mkdirSync(join(data, 'kb'), { recursive: true });
  execFileSync('cp', ['-r', original.kbFolder('demo'), join(data, 'kb/copy')]);
  const claim = join(data, 'kb/copy/strata/streams/s/data/b1.parquet');
  assert.equal(statSync(claim).nlink, 1, 'a copy has files where the original had links');
  renameSync(original.data, `${original.data}.away`);

  const copy = await start({ data });
  assert.deepEqual(
      await copy.rows('copy', 'SELECT a, b, _batch_id FROM raw_extracted.stream_s ORDER BY a'),
      [['1', 'x', 'b1'], ['2', null, 'b1'], ['3', null, 'b2']]);
  const files = await copy.rows('copy', 'SELECT DISTINCT filename FROM raw_extracted.stream_s');
  assert.ok(files.every(([file]) => file.startsWith(data)), String(files));

  const replayed = await copy.post('copy', 's', '{"a":"3"}\n', { id: 'b2' });
  assert.deepEqual(replayed.json, { ...first, replayed: true });
  assert.equal((await copy.post('copy', 's', '{"a":"4"}\n', { id: 'b2' })).status, 422);
  await copy.land('copy', 's', [{ a: '5' }], 'b3');
  const { files: count, rows, bytes } = await copy.receiver('copy', 's');
  assert.deepEqual({ files: count, rows, bytes },
                   await countStream(copy.streamFolder('copy', 's')));
  // Immutable files keep the name of the kb they landed in; a copy's claims are files of their own.
  const expected = /(b1|b2)\.parquet: (kb says demo, and is|the claim in its shard says false)/;
  const { problems } = await verifyRoot(data);
  assert.deepEqual(problems.filter((problem) => !expected.test(problem)), []);

  const metrics = await copy.metrics();
  const relocations = 'strata_lock_acquisitions_total{kb="copy",purpose="relocate",stream="s"}';
  assert.equal(metrics[relocations], 1);
  renameSync(`${original.data}.away`, original.data);
});

test('a kb renamed under two running servers is the same kb by its new name', async () => {
  const one = await startWith('demo', ['s']);
  const two = await start({ data: one.data });
  await one.land('demo', 's', kRows, 'b1');
  await two.land('demo', 's', [{ a: '3' }], 'b2');
  renameSync(one.kbFolder('demo'), one.kbFolder('renamed'));
  for (const server of [one, two]) {
    const replayed = await server.post('renamed', 's', '{"a":"3"}\n', { id: 'b2' });
    assert.equal(replayed.json.replayed, true, replayed.text);
    const gone = await server.post('demo', 's', '{"a":"4"}\n', { id: 'b3' });
    assert.equal(gone.json.code, 'unknown_knowledgebase');
  }
  await one.land('renamed', 's', [{ a: '4' }], 'b3');
  await two.land('renamed', 's', [{ a: '5' }], 'b4');
  const counted = await countStream(one.streamFolder('renamed', 's'));
  assert.deepEqual([counted.files, counted.rows], [4, 5]);
  for (const server of [one, two]) {
    await until(async () => (await server.receiver('renamed', 's')).files === 4, 'the numbers');
    const { files, rows, bytes } = await server.receiver('renamed', 's');
    assert.deepEqual({ files, rows, bytes }, counted);
    const seen = await server.rows('renamed', 'SELECT a FROM raw_extracted.stream_s ORDER BY a');
    assert.deepEqual(seen, [['1'], ['2'], ['3'], ['4'], ['5']]);
    assert.equal((await server.get('/readyz')).status, 200);
  }
});

test('a copy beside its original is refused, with the reason', async () => {
  const server = await startWith('demo', ['s']);
  await server.land('demo', 's', kRows, 'b1');
  await server.stop();
  execFileSync('cp', ['-r', server.kbFolder('demo'), server.kbFolder('another')]);
  await server.restart();
  const ready = await server.get('/readyz');
  assert.equal(ready.status, 503);
  assert.match(ready.json.reasons.join(), /another .*UUID of knowledgebase 'demo'/);
  const refused = await server.query('another', 'SELECT 1');
  assert.equal(refused.status, 409, refused.text);
  assert.deepEqual(await server.rows('demo', 'SELECT count(*) FROM raw_extracted.stream_s'), [[2]]);
});

test('a copy beside its original is refused, with the original, where the list was lost',
     async () => {
  const one = await startWith('demo', ['s']);
  await one.createKb('other');
  await one.land('demo', 's', kRows, 'b1');
  const two = await start({ data: one.data });
  execFileSync('cp', ['-r', one.kbFolder('demo'), one.kbFolder('another')]);
  loseRootCatalog(one.data);
  // Whoever has the original open knows it; a process that starts now cannot tell.
  assert.equal((await one.query('another', 'SELECT 1')).status, 409);
  assert.equal((await one.post('demo', 's', '{"a":"3"}\n', { id: 'b2' })).status, 200);
  await two.restart();
  for (const [kb, twin] of [['demo', 'another'], ['another', 'demo']]) {
    const reason = new RegExp(
        `UUID of knowledgebase '${twin}'.* list of knowledgebases does not tell`);
    for (const answer of [await two.query(kb, 'SELECT 1'),
                          await two.post(kb, 's', '{"a":"4"}\n', { id: 'b3' })]) {
      assert.equal(answer.status, 409, answer.text);
      assert.match(answer.json.detail, reason);
    }
    assert.match((await two.get('/readyz')).json.reasons.join(), reason);
  }
  assert.equal((await two.query('other', 'SELECT 1')).status, 200);

  renameSync(one.kbFolder('another'), join(freshFolder(), 'another'));
  assert.equal((await two.get('/readyz')).status, 200);
  for (const server of [one, two]) {
    const seen = await server.rows('demo', 'SELECT count(*) FROM raw_extracted.stream_s');
    assert.deepEqual(seen, [[3]]);
  }
  assert.equal((await two.post('demo', 's', '{"a":"3"}\n', { id: 'b2' })).json.replayed, true);
});
