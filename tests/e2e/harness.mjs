// Starts the real program on a free port over a fresh folder, speaks HTTP with it, and leaves
// nothing behind: whatever was started is ended by its id and every folder is removed, also when a
// test fails. STRATA_PROGRAM names the program; by default it is build/release/strata.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
export const program = process.env.STRATA_PROGRAM ?? join(repository, 'build/release/strata');

/// What a kill point exits with (src/io/kill_point.h).
export const kKillPointExit = 85;

// No promise about speed: only how long a hung process may hold up a test.
const kPatienceMilliseconds = 60_000;
const kPollMilliseconds = 20;

const running = new Set();  // every process
const servers = new Set();  // those that listen
const folders = new Set();

/// A folder of its own below the system's, by its real path, gone when the test file ends.
export function freshFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'strata-e2e-')));
  folders.add(folder);
  return folder;
}

function cleanUp() {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}
process.on('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
/// A server that a test file leaves running is stopped, and has to stop cleanly.
after(async () => {
  try {
    for (const server of servers) await server.stop();
  } finally {
    cleanUp();
  }
});

/// Polls until `look` answers something true, and answers that.
export async function until(look, what, patience = kPatienceMilliseconds) {
  const giveUp = Date.now() + patience;
  while (true) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() < giveUp, `${what}: not within ${patience} ms`);
    await sleep(kPollMilliseconds);
  }
}

export const ndjson = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/// Starts `command` so that it also ends with this process, should that be killed.
function launch(command, args, environment) {
  assert.ok(existsSync(command), `${command} is missing: build it, or set STRATA_PROGRAM`);
  const inherited = { ...process.env };
  delete inherited.STRATA_CRASH_AT;
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.log = '';
  child.out = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { child.log += text; });
  child.stdout.setEncoding('utf8').on('data', (text) => { child.out += text; });
  child.ended = new Promise((resolve) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, log: child.log, out: child.out });
    });
  });
  return child;
}

async function withPatience(promise, what) {
  const timer = new AbortController();
  const late = sleep(kPatienceMilliseconds, 'late', { signal: timer.signal }).catch(() => {});
  const first = await Promise.race([promise, late]);
  timer.abort();
  assert.notEqual(first, 'late', `${what}: not within ${kPatienceMilliseconds} ms`);
  return first;
}

/// Runs `strata ...` to its end, beside the event loop.
export async function run(args, environment = {}) {
  const child = launch(program, args, environment);
  return withPatience(child.ended, `strata ${args.join(' ')}`);
}

/// Runs `strata serve` that is expected to end by itself before it listens.
export async function startAndEnd({ data, env = {}, listen = '127.0.0.1:0' }) {
  return run(['serve', '--listen', listen, '--data', data, ...sharedServices(data)], env);
}

class Answer {
  constructor(message, bytes) {
    this.status = message.statusCode;
    this.headers = message.headers;
    this.bytes = bytes;
  }
  get text() { return this.bytes.toString('utf8'); }
  get json() { return JSON.parse(this.text); }
}

const pathOf = (kb, rest) => `/knowledgebase/${kb}/strata${rest}`;

// tests/e2e/on_postgres.mjs runs test files again with knowledgebases in PostgreSQL and the lock in
// Redis, which it names here: `<host>:<port>` with a user `strata`, and a URL.
const kPostgres = process.env.STRATA_E2E_POSTGRES;
const kRedis = process.env.STRATA_E2E_REDIS;

/// Each root has a database of its own then.
const databaseOf = (data) => `e2e_${createHash('sha256').update(data).digest('hex').slice(0, 16)}`;

/// One of PostgreSQL's programs on `database`.
function postgresProgram(program, database, args, input = '') {
  const [host, port] = kPostgres.split(':');
  return spawnSync(program, ['-h', host, '-p', port, '-U', 'strata', '-d', database, ...args],
                   { encoding: 'utf8', input });
}

function makeDatabase(data) {
  const { status, stderr } = postgresProgram(
      'psql', 'postgres', ['-Xq', '-c', `CREATE DATABASE ${databaseOf(data)}`]);
  // Another server of the same root may have made it.
  assert.ok(status === 0 || /already exists/.test(stderr), stderr);
}

/// What a server on the root `data` is started with then.
function sharedServices(data) {
  if (kPostgres === undefined) return [];
  makeDatabase(data);
  const url = `postgresql://strata@${kPostgres}/${databaseOf(data)}`;
  return ['--postgres', url, '--redis', kRedis];
}

/// Takes the list of knowledgebases from the root `data`.
export function loseRootCatalog(data) {
  if (kPostgres === undefined) return rmSync(join(data, 'strata.sqlite'));
  const { status, stderr } = postgresProgram('psql', databaseOf(data),
                                             ['-Xq', '-c', 'TRUNCATE strata.knowledgebases']);
  return assert.equal(status, 0, stderr);
}

/// What goes beside a backup of a folder of the root `data`: nothing where catalogs are files.
export function dumpCatalogs(data) {
  if (kPostgres === undefined) return undefined;
  const { status, stdout, stderr } = postgresProgram('pg_dump', databaseOf(data),
                                                     ['--schema=strata']);
  assert.equal(status, 0, stderr);
  return stdout;
}

/// For the root `data`, on which no server has run yet.
export function restoreCatalogs(data, dump) {
  if (dump === undefined) return;
  makeDatabase(data);
  const { status, stderr } = postgresProgram('psql', databaseOf(data),
                                             ['-Xq', '-v', 'ON_ERROR_STOP=1'], dump);
  assert.equal(status, 0, stderr);
}

/// One `strata serve`. Its methods throw only when there is no answer; what it says is for the test
/// to judge, but for the ones that say so.
export class Server {
  constructor(options) {
    this.data = options.data ?? freshFolder();
    this.options = options;
  }

  async begin(env) {
    const args = ['serve', '--listen', this.options.listen ?? '127.0.0.1:0', '--data', this.data,
                  ...sharedServices(this.data), ...(this.options.args ?? [])];
    this.child = launch(this.options.program ?? program, args, env);
    this.ended = this.child.ended;
    this.agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const listening = () => /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(this.child.log);
    let over = false;
    this.ended.then(() => {
      over = true;
      servers.delete(this);
      this.agent.destroy();
    });
    await until(() => over || listening(), 'strata serve');
    assert.ok(!over, `strata serve ended before it listened:\n${this.child.log}`);
    servers.add(this);
    this.port = Number(listening()[1]);
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  get pid() { return this.child.pid; }
  get log() { return this.child.log; }
  kbFolder(kb) { return join(this.data, 'kb', kb); }
  streamFolder(kb, stream) { return join(this.kbFolder(kb), 'strata/streams', stream); }

  request(method, path, { headers = {}, body, agent = this.agent } = {}) {
    return new Promise((resolve, reject) => {
      const { port } = this;
      const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent });
      sent.on('error', reject);
      sent.on('response', (message) => {
        const chunks = [];
        message.on('data', (chunk) => chunks.push(chunk));
        message.on('error', reject);
        message.on('end', () => resolve(new Answer(message, Buffer.concat(chunks))));
      });
      sent.end(body);
    });
  }

  get(path, headers = {}) { return this.request('GET', path, { headers }); }

  control(path, value) {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return this.request('POST', path, { headers, body });
  }

  post(kb, stream, body, { id, headers = {} } = {}) {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    const all = { 'Content-Type': 'application/x-ndjson', 'Content-Length': bytes.length };
    if (id !== undefined) all['Idempotency-Key'] = id;
    return this.request('POST', pathOf(kb, `/ingest/${stream}`), {
      headers: { ...all, ...headers },
      body: bytes,
    });
  }

  /// Posts what has to land, and answers the body.
  async land(kb, stream, rows, id) {
    const answer = await this.post(kb, stream, typeof rows === 'string' ? rows : ndjson(rows), {
      id,
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  query(kb, sql, { accept, ...members } = {}) {
    const headers = { 'Content-Type': 'application/json' };
    if (accept !== undefined) headers.Accept = accept;
    const body = JSON.stringify({ sql, ...members });
    return this.request('POST', pathOf(kb, '/query'), { headers, body });
  }

  /// Asks what has to work, and answers the rows.
  async rows(kb, sql, members) {
    const answer = await this.query(kb, sql, members);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.rows;
  }

  async columns(kb, stream) {
    const answer = await this.query(kb, `SELECT * FROM raw_extracted.stream_${stream}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.columns.map(({ name }) => name);
  }

  /// A job as it is now.
  async job(kb, id) {
    return (await this.get(pathOf(kb, `/jobs/${id}`))).json;
  }
  /// The job that `answer`, a 202, began, as it ended.
  async jobEnd(kb, answer, patience) {
    assert.equal(answer.status, 202, answer.text);
    const job = () => this.job(kb, answer.json.job);
    await until(async () => !['queued', 'running'].includes((await job()).state),
                'the end of the job', patience);
    return job();
  }

  async createKb(kb, backend = kPostgres === undefined ? 'file' : 'postgres') {
    const answer = await this.control('/knowledgebase', { id: kb, backend });
    assert.equal(answer.status, 201, answer.text);
  }

  async createReceiver(kb, stream, settings = {}) {
    const answer = await this.control(pathOf(kb, '/receivers'), { stream, ...settings });
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  }

  async receiver(kb, stream) {
    const answer = await this.get(pathOf(kb, `/receivers/${stream}`));
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  /// /metrics by `name{label="value",...}`, the labels in the order of their names.
  async metrics() {
    const answer = await this.get('/metrics');
    assert.equal(answer.status, 200, answer.text);
    const lines = answer.text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(lines.map((line) => {
      const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
      const sorted = (labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? []).sort().join();
      return [sorted === '' ? name : `${name}{${sorted}}`, Number(value)];
    }));
  }

  /// A socket on which `bytes` were sent, for what a well-behaved client never does.
  connect(bytes) {
    const socket = createConnection({ host: '127.0.0.1', port: this.port });
    socket.on('error', () => {});  // a reset is for the test to see as the end
    socket.write(bytes);
    return socket;
  }

  workers() { return childrenOf(this.pid).filter((pid) => commandOf(pid).at(-1) === 'worker'); }

  exited() { return withPatience(this.ended, 'the end of strata serve'); }

  /// SIGTERM is a clean stop: it exits 0.
  async stop() {
    this.child.kill('SIGTERM');
    const { code, signal, log } = await this.exited();
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, log);
  }

  async kill() {
    this.child.kill('SIGKILL');
    await this.exited();
  }

  /// The process must have ended, or is stopped cleanly now.
  async restart(env = {}) {
    if (running.has(this.child)) await this.stop();
    return this.begin(env);
  }
}

/// How often the process that answered `metrics` took a kb lock: for one stream or all, and for one
/// purpose or any.
export const acquisitions = (metrics, stream, purpose) => Object.entries(metrics)
    .filter(([name]) => name.startsWith('strata_lock_acquisitions_total{'))
    .filter(([name]) => stream === undefined || name.includes(`stream="${stream}"`))
    .filter(([name]) => purpose === undefined || name.includes(`purpose="${purpose}"`))
    .reduce((sum, [, value]) => sum + value, 0);

/// A server over a fresh folder, or over `data`; `args` are further options of `strata serve`.
export async function start(options = {}) {
  return new Server(options).begin(options.env ?? {});
}

/// A server with one kb and its receivers: a list of names, or name to settings.
export async function startWith(kb, receivers, options = {}) {
  const server = await start(options);
  await server.createKb(kb);
  const settings = Array.isArray(receivers)
      ? Object.fromEntries(receivers.map((name) => [name, {}])) : receivers;
  for (const [name, value] of Object.entries(settings)) {
    await server.createReceiver(kb, name, value);
  }
  return server;
}

// --- Processes ----------------------------------------------------------------------------------

/// Empty where the process has ended meanwhile.
export function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

export const commandOf = (pid) => readProc(pid, 'cmdline').split('\0').slice(0, -1);
/// The field after the name, which may hold anything, is the state; then comes the parent.
export const parentOf = (pid) => Number(readProc(pid, 'stat').split(') ').at(-1).split(' ')[1]);
/// Processor time used so far, in clock ticks.
export const ticksOf = (pid) => {
  const fields = readProc(pid, 'stat').split(') ').at(-1).split(' ');
  return Number(fields[11]) + Number(fields[12]);
};
export const allProcesses = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))
                                      .map(Number);
export const childrenOf = (pid) => allProcesses().filter((other) => parentOf(other) === pid);

/// A tool that has to be there; without it the caller skips, unless STRATA_REQUIRE_ALL says not to.
export function missing(path) {
  if (existsSync(path)) return false;
  assert.ok(process.env.STRATA_REQUIRE_ALL !== '1', `${path} is missing`);
  return `${path} is missing`;
}

assert.equal(spawnSync('setpriv', ['--version']).status, 0, 'setpriv (util-linux) is missing');
