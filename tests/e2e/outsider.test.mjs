// A program that opens a generation for writing keeps every reader out: that is said where people
// look, and over when it closes the file. Landing does not care.
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { childrenOf, repository, startWith, until } from './harness.mjs';
import { unlessGone } from './processes.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

test('a generation held open for writing is told, and nothing is lost by it', {
  // Only root may open a file of mode 0444 for writing.
  skip: process.getuid() !== 0 && 'not root',
}, async () => {
  const server = await startWith('demo', ['s']);
  await server.land('demo', 's', [{ a: '1' }], 'b1');
  const newest = realpathSync(join(server.kbFolder('demo'), 'knowledgebase.duckdb'));

  // As long as a worker has the file open, nobody can open it for writing: an idle one may stay so.
  const outsider = await until(() => DuckDBInstance.create(newest).catch((error) => {
    assert.match(error.message, /Could not set lock/);
    childrenOf(server.pid).forEach((pid) => unlessGone(() => process.kill(pid, 'SIGKILL')));
  }), 'the file to be free');
  try {
    const answer = await server.query('demo', 'SELECT a FROM raw_extracted.stream_s');
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.json.detail, /another program holds .* open for writing/);
    assert.ok(!answer.text.includes(server.data), 'no server path');
    const ready = await server.get('/readyz');
    assert.equal(ready.status, 503);
    assert.match(ready.json.reasons.join(), /demo cannot be queried: another program holds/);
    await server.land('demo', 's', [{ a: '2' }], 'b2');
  } finally {
    outsider.closeSync();
  }
  assert.deepEqual(await server.rows('demo', 'SELECT a FROM raw_extracted.stream_s ORDER BY a'),
                   [['1'], ['2']]);
  assert.equal((await server.get('/readyz')).status, 200);
});

test('a read-only connection outside keeps nothing waiting, and reads on', async () => {
  const kStreams = 100;
  const names = Array.from({ length: kStreams }, (_, n) => `s${n}`);
  const server = await startWith('demo', ['first']);
  await server.land('demo', 'first', [{ a: '1' }], 'b1');
  const file = join(server.kbFolder('demo'), 'knowledgebase.duckdb');
  const options = { access_mode: 'READ_ONLY' };
  const outsider = await DuckDBInstance.create(file, options);
  const connection = await outsider.connect();
  const kSql = 'SELECT a FROM raw_extracted.stream_first';
  const read = async () => (await connection.runAndReadAll(kSql)).getRows();
  try {
    for (const name of names) {
      await server.createReceiver('demo', name);
      await server.land('demo', name, [{ a: name }], 'b1');
      // Ready with the landing's own answer, whoever holds an older generation.
      assert.deepEqual(await server.rows('demo', `SELECT a FROM raw_extracted.stream_${name}`),
                       [[name]]);
      const resync = await server.control(
          `/knowledgebase/demo/strata/receivers/${name}/resync`, {});
      assert.deepEqual([resync.status, resync.json.view.state], [200, 'ready'], resync.text);
      assert.deepEqual(await read(), [['1']]);
    }
  } finally {
    connection.closeSync();
    outsider.closeSync();
  }
  // Opened again, it sees what came meanwhile.
  const again = await DuckDBInstance.create(file, options);
  const views = await (await again.connect()).runAndReadAll(
      "SELECT count(*) FROM duckdb_views() WHERE schema_name = 'raw_extracted'");
  assert.deepEqual(views.getRows(), [[BigInt(kStreams + 1)]]);
  again.closeSync();
});
