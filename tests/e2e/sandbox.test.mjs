// Where the kernel cannot hold a worker: no reader's SQL, said with the reason, unless the operator
// takes it upon himself; batches land either way, and their views are made.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, startWith } from './harness.mjs';

const kReason = /does not offer Landlock and seccomp.*--unsafe-queries/;
const readiness = async (server) => {
  const { json, status } = await server.get('/readyz');
  const { landlock, seccomp } = json.probe;
  return { status, ready: json.ready, reasons: json.reasons, landlock, seccomp };
};

test('without a sandbox batches land and no SQL is run', async () => {
  const server = await startWith('demo', ['weather'], { env: { STRATA_SANDBOX: 'none' } });
  const { reasons, ...rest } = await readiness(server);
  assert.deepEqual(rest, { status: 503, ready: false, landlock: 0, seccomp: false });
  assert.equal(reasons.length, 1);
  assert.match(reasons[0], kReason);
  await server.land('demo', 'weather', [{ temp: '1' }], 'one');
  const refused = await server.query('demo', 'SELECT 1');
  assert.deepEqual([refused.status, refused.json.code], [403, 'sql_refused']);
  assert.match(refused.json.detail, kReason);
  assert.match(server.log, kReason);
  await server.stop();
});

test('unsafe_queries runs it all the same', async () => {
  const file = join(freshFolder(), 'strata.toml');
  writeFileSync(file, 'unsafe_queries = true\n');
  const server = await startWith('demo', ['weather'],
                                 { env: { STRATA_SANDBOX: 'none', STRATA_CONFIG: file } });
  await server.land('demo', 'weather', [{ temp: '1' }], 'one');
  assert.deepEqual(await server.rows('demo', 'SELECT temp FROM raw_extracted.stream_weather'),
                   [['1']]);
  assert.deepEqual(await readiness(server),
                   { status: 200, ready: true, reasons: [], landlock: 0, seccomp: false });
  await server.stop();
});

test('with one, readyz shows what the kernel offers', async () => {
  const server = await startWith('demo', ['weather']);
  const { landlock, seccomp } = await readiness(server);
  assert.equal(typeof landlock, 'number');
  assert.equal(typeof seccomp, 'boolean');
  assert.equal((await server.query('demo', 'SELECT 1')).status,
               landlock > 0 && seccomp ? 200 : 403);
  await server.stop();
});
