// `strata query` against a server: what it prints, what it leaves in a file, how it exits.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createConnection, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { freshFolder, program, run, startWith } from './harness.mjs';
import { readParquet } from './independent.mjs';

const require = createRequire(new URL('../../deps/package.json', import.meta.url));
const { tableFromIPC } = require('apache-arrow');

let server;
let folder;
before(async () => {
  server = await startWith('demo', ['weather']);
  await server.land('demo', 'weather', [{ day: 'd1', note: '' }, { day: 'd2, "x"' }], 'one');
  folder = freshFolder();
});

const kSql = 'SELECT day, note, 7 AS n FROM raw_extracted.stream_weather ORDER BY day';
const query = (sql, ...options) => run(['query', 'demo', sql, ...options, '--url', server.url]);

const kFormats = {
  csv: 'day,note,n\r\nd1,"",7\r\n"d2, ""x""",,7\r\n',
  ndjson: '{"day":"d1","note":"","n":7}\n{"day":"d2, \\"x\\"","note":null,"n":7}\n',
  table: ' day     | note | n\n---------+------+---\n d1      |      | 7\n d2, "x" | NULL | 7\n' +
      '(2 rows)\n',
};

test('each format, on standard output and in a file', async () => {
  for (const [format, expected] of Object.entries(kFormats)) {
    const shown = await query(kSql, '--format', format);
    assert.deepEqual([shown.code, shown.out, shown.log], [0, expected, ''], format);
    const file = join(folder, `answer.${format}`);
    const written = await query(kSql, '--format', format, '-o', file);
    assert.deepEqual([written.code, written.out, written.log], [0, '', ''], format);
    assert.equal(readFileSync(file, 'utf8'), expected);
  }
  assert.equal((await query(kSql)).out, kFormats.table);
  const { code, out } = await query(kSql, '--format', 'json');
  const { rows, truncated, read } = JSON.parse(out);
  assert.deepEqual([code, rows, truncated, read.files],
                   [0, [['d1', '', 7], ['d2, "x"', null, 7]], false, 1]);
});

test('parquet and arrow: bytes for a file or a pipe, not for a terminal', async () => {
  const parquet = join(folder, 'answer.parquet');
  const written = await query(kSql, '--format', 'parquet', '-o', parquet);
  assert.deepEqual([written.code, written.out, written.log], [0, '', '']);
  const { columns, rows } = await readParquet(parquet);
  assert.deepEqual([columns, rows], [['day', 'note', 'n'], [['d1', '', 7], ['d2, "x"', null, 7]]]);

  const arrow = join(folder, 'answer.arrow');
  assert.equal((await query(kSql, '--format', 'arrow', '-o', arrow)).code, 0);
  const table = tableFromIPC(readFileSync(arrow));
  assert.deepEqual(table.toArray().map((row) => Object.values(row.toJSON())),
                   [['d1', '', 7], ['d2, "x"', null, 7]]);

  const shown = spawnSync('script', ['-qec', `${program} query demo 'SELECT 1' --format arrow ` +
                                             `--url ${server.url}`, '/dev/null'],
                          { encoding: 'utf8' });
  assert.equal(shown.status, 2);
  assert.match(shown.stdout, /not for a terminal: name a file with -o, or send it to a pipe/);
});

test('the example of --help works as printed', async () => {
  const { out } = await run(['query', '--help']);
  const [, example] = /Example:\n {2}(strata query .*)/.exec(out);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', example], {
    encoding: 'utf8',
    env: {
      ...process.env, PATH: `${dirname(program)}:${process.env.PATH}`, STRATA_URL: server.url,
    },
  });
  assert.deepEqual([status, stdout], [0, ' rows\n------\n    2\n(1 row)\n'], stderr);
});

test('refused, wrong and out of reach: an exit code each, and no file', async () => {
  const file = join(folder, 'none.csv');
  const cases = [
    [1, /nosuch/, ['SELECT nosuch', '--format', 'csv', '-o', file]],
    [1, /TRY_CAST/, ['SELECT sum(day) FROM raw_extracted.stream_weather', '-o', file]],
    [2, /format/, ['SELECT 1', '--format', 'xml', '-o', file]],
    [2, /No such file or directory/, ['SELECT 1', '-o', join(folder, 'no/such/folder')]],
    [1, /cut.*nothing was written/, ['FROM range(10001)', '--format', 'csv', '-o', file]],
  ];
  for (const [exit, reason, args] of cases) {
    const { code, log, out } = await query(...args);
    assert.deepEqual([code, out], [exit, ''], log);
    assert.match(log, reason);
    assert.ok(!log.includes(server.data), log);
  }
  const away = await run(['query', 'demo', 'SELECT 1', '-o', file, '--url', 'http://127.0.0.1:1']);
  assert.equal(away.code, 3, away.log);
  assert.ok(!existsSync(file));
});

/// A way to the server on which an answer breaks off after some bytes.
async function startCut(bytesMax) {
  const cut = createServer((near) => {
    const far = createConnection({ host: '127.0.0.1', port: server.port });
    let passed = 0;
    near.pipe(far);
    far.on('data', (bytes) => {
      near.write(bytes);
      passed += bytes.length;
      if (passed > bytesMax) near.destroy();
    });
    for (const [one, other] of [[near, far], [far, near]]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise((resolve) => { cut.listen(0, '127.0.0.1', resolve); });
  return cut;
}

test('an answer that breaks off leaves the older file and nothing else', async () => {
  const own = freshFolder();
  const file = join(own, 'big');
  writeFileSync(file, 'older');
  const cut = await startCut(500_000);
  const url = `http://127.0.0.1:${cut.address().port}`;
  const sql = "SELECT i, repeat('x', 1000) AS x FROM range(3000) t(i)";
  for (const format of ['csv', 'ndjson', 'json', 'table']) {
    const { code, log } = await run(
        ['query', 'demo', sql, '--format', format, '-o', file, '--url', url]);
    assert.ok(code === 1 || code === 3, `${format}: ${code} ${log}`);
    assert.notEqual(log, '');
    assert.equal(readFileSync(file, 'utf8'), 'older', format);
    assert.deepEqual(readdirSync(own), ['big'], format);
  }
  cut.close();
});

test('what cannot be replaced, a pipe, is written as it is', () => {
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const line = '"$0" query demo "$1" --format csv -o "$2" & cat "$2"; wait';
  const { stdout, stderr } = spawnSync('sh', ['-c', line, program, kSql, pipe], {
    encoding: 'utf8', env: { ...process.env, STRATA_URL: server.url },
  });
  assert.equal(stdout, kFormats.csv, stderr);
});
