// A script that shares no code with Strata recomputes file_sha256, content_sha256 and the shard of
// every batch; the vectors hold the rules for ever.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { groupByColumns } from './grouping.mjs';
import { freshFolder, ndjson, repository, startWith } from './harness.mjs';
import {
  batchFiles, contentSha256, fileSha256, readParquet, shardOf, verifyBatch, verifyRoot,
} from './independent.mjs';

const vectors = (name) => JSON.parse(readFileSync(join(repository, 'tests/vectors', name), 'utf8'));

for (const { name, rows, sha256 } of vectors('content_sha256.json').cases) {
  test(`content_sha256: ${name}`, () => {
    assert.equal(contentSha256(rows.map((row) => Object.entries(row))), sha256);
  });
}

test('the shards of ids', () => {
  for (const { id, shard } of vectors('shards.json').cases) assert.equal(shardOf(id), shard, id);
});

test('file_sha256 of the vector file, which no writer may change any more', () => {
  const folder = join(repository, 'tests/vectors/file_sha256');
  const { file, file_sha256: expected } = JSON.parse(
      readFileSync(join(folder, 'expected.json'), 'utf8'));
  assert.equal(fileSha256(readFileSync(join(folder, file)), expected), expected);
});

/// Batches of every kind of cell: id, and the body as it is sent.
const kBatches = [
  ['plain', ndjson([{ a: '1', b: 'x' }, { a: '2', b: 'y' }])],
  ['order', ndjson([{ b: 'y', a: '2' }, { a: '1' }, { b: 'x' }])],
  ['nulls-and-empty', ndjson([{ a: null, b: '' }, {}, { a: '' }, { c: 'null' }])],
  ['numbers', '{"v":1.0}\n{"v":1e400}\n{"v":-0}\n{"v":10000000000000000000000001}\n{"v":true}\n'],
  ['nested', '{"p": {"a": 1, "b": [1, 2.50, {"x": "\\u00e9"}]}, "q": [ ] }\n'],
  ['unicode', ndjson([{ 'Größe': '180 cm', '値': '五', '😀': '👩‍🚀', '～': 'é' }])],
  ['escapes', ndjson([{ t: '"\\/\b\f\n\r\t\u0001\u2028', 'a"b': 'c' }])],
  ['other-case', ndjson([{ A: '3', gRÖSSE: 'not Größe', 'gRößE': 'is Größe' }])],
  ['javascript', '{"__proto__":"1","constructor":"2","toString":"3"}\n'],
  ['crlf-and-mark', '\ufeff{"a":"1"}\r\n\r\n{"a":"2"}'],
  ['Long.ID_-' + 'x'.repeat(119), ndjson([{ a: 'x'.repeat(70_000) }])],
  ['many', ndjson(Array.from({ length: 5000 }, (_, n) => ({ n, even: n % 2 === 0 ? n : null })))],
];

/// The vectors that a body can be made of: at least one cell, no two columns alike but for case.
function sendable() {
  return vectors('content_sha256.json').cases.filter(({ columns, rows }) => {
    const folded = new Set(columns.map((column) => column.toLowerCase()));
    return folded.size === columns.length && rows.some((row) => Object.keys(row).length > 0);
  });
}

async function sendVectors(server) {
  const groups = groupByColumns(sendable(), ({ columns }) => columns);
  for (const [number, group] of groups.entries()) {
    const stream = `vectors_${number}`;
    await server.createReceiver('demo', stream);
    for (const [index, { name, rows, sha256 }] of group.entries()) {
      const id = `vector-${index}`;
      await server.land('demo', stream, ndjson(rows), id);
      const path = join(server.streamFolder('demo', stream), `data/${id}.parquet`);
      assert.equal((await readParquet(path)).keyValues.get('content_sha256'), sha256, name);
    }
  }
}

test('every batch of a root is what it says, the vectors among them', async () => {
  const server = await startWith('demo', ['mixed', 'registered']);
  await server.createReceiver('demo', 'listed', { columns: ['b', 'Temp', 'a'] });
  for (const [id, body] of kBatches) await server.land('demo', 'mixed', body, id);
  await server.land('demo', 'listed', [{ a: '1' }, { Temp: '2', b: '3' }], 'registered-order');
  await server.land('demo', 'registered', [{ a: '1' }]);  // an id of the server's own

  await sendVectors(server);

  const report = await verifyRoot(server.data);
  assert.deepEqual(report.problems, []);
  assert.equal(report.batches, kBatches.length + 2 + sendable().length);
  const script = spawnSync(process.execPath, [
    join(repository, 'tests/e2e/independent.mjs'), server.data,
  ], { encoding: 'utf8' });
  assert.deepEqual({ status: script.status, out: script.stdout },
                   { status: 0, out: `${report.batches} batches, 0 problems\n` });
  for (const [id, body] of kBatches) {
    const replay = await server.land('demo', 'mixed', body, id);
    const path = join(server.streamFolder('demo', 'mixed'), `data/${id}.parquet`);
    const { bytes, keyValues, rowCount } = await readParquet(path);
    assert.deepEqual(
        { file: replay.file_sha256, body: replay.body_sha256, rows: replay.rows,
          bytes: replay.bytes },
        { file: keyValues.get('file_sha256'), body: keyValues.get('body_sha256'),
          rows: rowCount, bytes: bytes.length }, id);
  }
});

test('the script finds what is not as it says', async () => {
  const source = join(repository, 'tests/vectors/file_sha256/batch.parquet');
  const root = freshFolder();
  const stream = join(root, 'kb/demo/strata/streams/weather');
  mkdirSync(join(stream, 'data'), { recursive: true });
  mkdirSync(join(stream, 'ids'), { recursive: true });
  const path = join(stream, 'data/vector-1.parquet');
  copyFileSync(source, path);
  // Its content_sha256 is a placeholder, and a copy has no claim.
  const expected = ['content_sha256 says 2{64}, and is [0-9a-f]{64}',
                    'the claim in its shard says false, and is true'];
  const problems = await verifyBatch(path);
  assert.match(problems.join('\n'), new RegExp(`^${expected.join('\n')}$`));

  const bytes = readFileSync(source);
  bytes[10] ^= 1;
  const digest = 'd792260f544fb60e58a55fa58b0d766f1cd03b0e2909b5ee5ed45d93383a8008';
  assert.notEqual(fileSha256(bytes, digest), digest);
});
