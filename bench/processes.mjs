// Processes of a benchmark: started, asked, and ended by their id whatever happens.
import { execFile, spawn } from 'node:child_process';
import { openSync, closeSync, readFileSync, readdirSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const kPatienceMilliseconds = 60_000;
const kStopMilliseconds = 15_000;
const kPollMilliseconds = 2;
const kKibibytesPerMegabyte = 1e6 / 1024;

const running = new Set();
process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/// Starts `command`, its output in the file `log`; it ends with this process too.
export function launch(command, args, { env = {}, log }) {
  const output = openSync(log, 'a');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  running.add(child);
  child.ended = new Promise((resolve) => {
    child.on('error', resolve);
    child.on('exit', resolve);
  }).then(() => running.delete(child));
  return child;
}

/// SIGTERM, and SIGKILL to one that does not heed it.
export async function end(child) {
  child.kill('SIGTERM');
  const stopped = await Promise.race([child.ended, sleep(kStopMilliseconds, 'late', { ref: false })]);
  if (stopped === 'late') child.kill('SIGKILL');
  await child.ended;
}

/// Polls until `look` answers something true, and answers that.
export async function until(look, what) {
  const giveUp = performance.now() + kPatienceMilliseconds;
  while (true) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > giveUp) throw new Error(`${what}: not in ${kPatienceMilliseconds} ms`);
    await sleep(kPollMilliseconds);
  }
}

/// One request; { status: 0 } where nobody answers.
export function ask(port, method, path, value) {
  return new Promise((resolve) => {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
    sent.on('error', () => resolve({ status: 0 }));
    sent.on('response', (message) => {
      const pieces = [];
      message.on('data', (piece) => pieces.push(piece));
      message.on('error', () => resolve({ status: 0 }));
      message.on('end', () => resolve({
        status: message.statusCode,
        text: Buffer.concat(pieces).toString(),
      }));
    });
    sent.end(body);
  });
}

/// The same, of something that has to work.
export async function mustAsk(port, method, path, value) {
  const answer = await ask(port, method, path, value);
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  }
  return answer.text === '' ? undefined : JSON.parse(answer.text);
}

const execute = promisify(execFile);

/// Runs a program to its end and answers what it printed.
export async function output(command, args, options = {}) {
  const { stdout } = await execute(command, args, { maxBuffer: 16 * 1024 * 1024, ...options });
  return stdout;
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/// `VmRSS` or `VmHWM` in MB; 0 of a process that has ended.
export function memoryMegabytes(pid, field) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) /
        kKibibytesPerMegabyte;
  } catch {
    return 0;
  }
}

export function childrenOf(pid) {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1).split(' ');
      return Number(fields[1]) === pid;
    } catch {
      return false;
    }
  }).map(Number);
}
