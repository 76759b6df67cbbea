// `make run` and the README as a newcomer meets them: what they print works when pasted.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = process.env.STRATA_PROGRAM;
assert.ok(program, 'STRATA_PROGRAM names the program under test');
const folder = mkdtempSync(join(tmpdir(), 'strata-run-'));
chmodSync(folder, 0o755);  // run by root, the server is another user
const running = new Set();
after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
  for (const log of ['', '-postgres', '-redis'])
    rmSync(join(root, `build/run-${port}${log}.log`), { force: true });
});

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/// Starts scripts/run; `until(pattern)` answers all output once it has the pattern, or at its end.
function start(port, { data = 'data', services = '' } = {}) {
  const child = spawn(join(root, 'scripts/run'), [], {
    env: { ...process.env, PORT: String(port), DATA: join(folder, data), WITH: services },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  const ended = once(child, 'close').then(([status]) => (running.delete(child), status));
  const until = (pattern) => new Promise((resolve) => {
    const look = (text) => {
      output += text;
      if (pattern.test(output)) resolve(output);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    ended.then(() => resolve(output));
  });
  return { child, ended, until };
}

/// Runs a line in `sh`, as if pasted from the checkout's root with a program built there.
function paste(line, port) {
  const command = line.replace('build/release/strata', program);
  const { stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...process.env,
      STRATA_URL: `http://127.0.0.1:${port}`,
      PATH: `${dirname(program)}:${process.env.PATH}`,
    },
  });
  return stdout + stderr;
}

/// The README's blocks of shell under the heading, for the server at `port`.
function readmeBlocks(heading, port) {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const section = new RegExp(`^## ${heading}$([^]*?)^## `, 'm').exec(readme)[1];
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(
      (match) => match[1].replaceAll(':8080/', `:${port}/`).replace(/^export PATH=.*\n/m, ''));
}

const port = await freePort();

test('make run feeds a new folder and prints lines that work when pasted', async () => {
  const { child, ended, until } = start(port);
  const output = await until(/its Idempotency-Key has landed already/);
  assert.match(output, /1,461 rows landed in 1 batch,/);
  assert.match(output, /3,201 rows landed in 3 batches,/);
  assert.match(output, /^ready: /m);
  const curl = /^curl .*$/m.exec(output)[0];
  const query = /^build\/release\/strata query .*$/m.exec(output)[0];
  assert.match(query, new RegExp(`--url http://127\\.0\\.0\\.1:${port}$`));

  assert.match(paste(curl, port), /"rows":2,.*"replayed":false/);
  assert.match(paste(curl, port), /"rows":2,.*"replayed":true/);
  // 2012 to 2015 have 640 days of sun; the pasted line adds one, and only one.
  assert.match(paste(query, port), /\bsun *\| *641 *\| *19\.8\b/);

  const second = start(port);
  assert.match(await second.until(/(?!)/), new RegExp(`port ${port} is taken: [^\n]*\n$`));
  assert.equal(await second.ended, 1);

  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('make run on a folder that is not new sends nothing', async () => {
  const { child, ended, until } = start(port);
  const output = await until(/its Idempotency-Key has landed already/);
  assert.match(output, /^\nready: /);
  assert.match(paste('strata receiver show demo weather', port), /\nrows: +1463\n/);
  child.kill('SIGINT');
  assert.equal(await ended, 0);
});

test("the README's five minutes show what it says", async () => {
  const { child, ended, until } = start(port);
  await until(/its Idempotency-Key has landed already/);
  const blocks = readmeBlocks('Five minutes', port);
  const [made, sent, asked, file, broken, compressed] = blocks.map((block) => paste(block, port));
  assert.equal(blocks.length, 6);
  assert.match(made, /^ready\nmade knowledgebase shop\nmade receiver orders\n/);
  assert.match(sent, /"rows":2,.*"replayed":false/);
  assert.match(asked, /\bA-1 *\| *12\.50 *\| *true *\| *NULL *\| *orders-1\b/);
  assert.match(asked, /\btotal *\n-+\n *20\.5\b/);
  assert.match(asked, /\bAvatar *\| *760167650\b/);
  assert.match(paste(blocks[1], port), /"replayed":true/);
  assert.match(file, /^2 rows landed in 1 batch,[^\n]*\n0 rows [^\n]* 1 batch replayed/);
  assert.match(broken, /"code":"bad_batch".*"line":2,/);
  assert.match(broken, /\nrows: +4\n/);
  assert.match(broken, /\nrejected: +1\n/);
  assert.match(compressed, /"replayed":true/);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test("the README's model of a stream is made as it says", async () => {
  const { child, ended, until } = start(port, { data: 'shared', services: 'postgres,redis' });
  await until(/its Idempotency-Key has landed already/);
  const blocks = readmeBlocks('A model of a stream', port);
  assert.equal(blocks.length, 1);
  const output = paste(blocks[0], port);
  assert.match(output, /^18 rows landed in 1 batch,/m);
  // Three months of 10.50, 20.50, ... 60.50.
  for (const n of [1, 2, 3, 4, 5, 6])
    assert.match(output, new RegExp(`^ *Person ${n} *\\| *${n * 30 + 1}\\.50 *$`, 'm'));
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});
