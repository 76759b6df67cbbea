// node on_postgres.mjs FILE...: these test files again, with every knowledgebase's catalog in
// PostgreSQL and every root's lock in Redis. Exits with 77 where one of the two is not installed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { Postgres, Redis, servicesMissing } from './services.mjs';

const kFiles = process.argv.slice(2);

if (servicesMissing) {
  console.log(servicesMissing);
  process.exit(77);
}

test(`on PostgreSQL and Redis: ${kFiles.length} files`, async () => {
  const [postgres, redis] = [await Postgres.start(), await Redis.start()];
  const child = spawn(process.execPath, ['--test', ...kFiles], {
    stdio: 'inherit',
    env: { ...process.env, NODE_TEST_CONTEXT: undefined,
           STRATA_E2E_POSTGRES: `127.0.0.1:${postgres.port}`, STRATA_E2E_REDIS: redis.url,
           // A holder that died is waited for so long.
           STRATA_REDIS_TTL_MS: '2000' },
  });
  const code = await new Promise((resolve) => { child.on('exit', resolve); });
  assert.equal(code, 0);
  const databases = postgres.sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'e2e_%'");
  assert.ok(Number(databases) > 0, 'the servers had databases there');
});
