// strata.toml: a flag beats the environment, which beats the file; slips are told.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshFolder, repository, run, start } from './harness.mjs';

const folder = freshFolder();
function write(text) {
  const file = join(folder, 'strata.toml');
  writeFileSync(file, text);
  return file;
}

/// Which host names a server answers for shows what its options were.
const answersFor = async (server, host) =>
    (await server.get('/healthz', { Host: host })).status === 200;
const isJson = (server) => server.log.startsWith('{"time"');

test('a flag beats the environment beats the file', async () => {
  const file = write('log_format = "json"\nnode = "file"\nallow_host = ["a.test", "b.test"]\n');
  const serve = (env) => start({ env: { STRATA_CONFIG: file, ...env } });
  const plain = await serve({});
  assert.ok(isJson(plain), plain.log);
  assert.deepEqual([await answersFor(plain, 'a.test'), await answersFor(plain, 'b.test'),
                    await answersFor(plain, 'c.test')], [true, true, false]);
  await plain.stop();

  const other = await serve({ STRATA_LOG_FORMAT: 'text', STRATA_ALLOW_HOST: 'c.test,d.test' });
  assert.ok(!isJson(other), other.log);
  assert.deepEqual([await answersFor(other, 'a.test'), await answersFor(other, 'c.test'),
                    await answersFor(other, 'd.test')], [false, true, true]);
  await other.stop();

  // The flags are --listen and --data of the harness: the file's would not do.
  const flags = write('listen = "127.0.0.1:1"\ndata = "/nowhere/at/all"\n');
  const flagged = await start({ env: { STRATA_CONFIG: flags, STRATA_LISTEN: '127.0.0.1:2' } });
  assert.equal((await flagged.get('/healthz')).status, 200);
  await flagged.stop();
});

test('a slip in the file is told, and the server does not start', async () => {
  const cases = [
    ['log_fromat = "json"', /line 1: there is no key 'log_fromat'. Did you mean 'log_format'\?/],
    ['\nlog-format = "json"', /line 2: there is no key 'log-format'. Did you mean 'log_format'\?/],
    ['zzzzzz = 1', /there is no key 'zzzzzz'. Known are: .*listen/],
    ['log_format = "xml"', /line 1: .*log-format/],
    ['log_format = { a = 1 }', /'log_format' takes no such value/],
    ['log_format = ', /line 1/],
    ['config = "other.toml"', /there is no key 'config'/],
  ];
  for (const [text, reason] of cases) {
    const { code, log } = await run(['serve', '--config', write(text), '--data', folder,
                                     '--listen', '127.0.0.1:0']);
    assert.equal(code, 2, `${text}\n${log}`);
    assert.match(log, reason, text);
  }
  const missing = await run(['serve', '--config', join(folder, 'none.toml')]);
  assert.equal(missing.code, 2, missing.log);
  assert.match(missing.log, /none\.toml/);
});

test('the documentation names every option with its key and default', async () => {
  const { out } = await run(['serve', '--help']);
  const flags = [...out.matchAll(/^ +--([a-z-]+)/gm)].map(([, flag]) => flag);
  assert.ok(flags.length >= 6, out);
  const page = readFileSync(join(repository, 'docs/CONFIGURATION.md'), 'utf8');
  for (const flag of flags) {
    const key = flag.replaceAll('-', '_');
    const row = page.split('\n').find((line) => line.startsWith(`| \`--${flag}`));
    assert.ok(row, `--${flag} is not in docs/CONFIGURATION.md`);
    assert.ok(row.includes(`STRATA_${key.toUpperCase()}`), row);
    if (flag !== 'config') assert.ok(row.includes(`\`${key}\``), row);
    const [, value] = new RegExp(`--${flag} [^\\n]*\\[([^\\]]+)\\]`).exec(out) ?? [];
    if (value !== undefined) assert.ok(row.includes(`"${value}"`), `${row} has not ${value}`);
  }
});
