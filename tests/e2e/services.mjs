// PostgreSQL and Redis for tests: servers of one's own on free loopback ports, with their files in
// a private folder, ended with the test.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync, closeSync, existsSync, openSync, readFileSync, readdirSync,
} from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { freePort } from '../../bench/processes.mjs';
import { freshFolder, missing, until } from './harness.mjs';

export const kPassword = "it's:a/pass@word";
const secret = encodeURIComponent(kPassword);
const kPrograms = '/usr/lib/postgresql';
const kRedis = '/usr/bin/redis-server';

const started = new Set();
after(() => { for (const service of started) service.kill(); });

/// The newest version's folder of programs.
const postgresPrograms = () => (existsSync(kPrograms) ? readdirSync(kPrograms) : [])
    .sort((a, b) => Number(a) - Number(b)).map((version) => join(kPrograms, version, 'bin'))
    .filter((folder) => existsSync(join(folder, 'postgres'))).at(-1);

/// Why tests that need them are skipped: false where both are there.
export const servicesMissing = missing(postgresPrograms() ?? kPrograms) || missing(kRedis);

/// postgres does not run as root.
const asNobody = process.getuid() === 0
  ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--'] : [];

function run(command, options = {}) {
  const [program, ...args] = command;
  const { status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8', ...options });
  assert.equal(status, 0, `${command.join(' ')}: ${stderr}`);
  return stdout;
}

/// A program that serves while the test file runs.
export class Service {
  folder = freshFolder();
  deathSignal = 'SIGKILL';  // ends it, also when this process ends

  /// Runs `command` until it is killed, and answers when `answers` says that it serves. `asUser`
  /// comes first: a change of user forgets the signal.
  async launch(command, answers, asUser = []) {
    const [program, ...args] = [...asUser, 'setpriv', '--pdeathsig', this.deathSignal.slice(3),
                                '--', ...command];
    // A file: a pipe would keep this process until the last of PostgreSQL's own has ended.
    const log = join(this.folder, 'log');
    const out = openSync(log, 'a');
    this.child = spawn(program, args, { stdio: ['ignore', 'ignore', out] });
    closeSync(out);
    started.add(this);
    await until(() => {
      assert.equal(this.child.exitCode, null, readFileSync(log, 'utf8'));
      return answers();
    }, `${command[0]} to answer`);
  }
  kill() {
    this.child?.kill(this.deathSignal);
    started.delete(this);
  }
  /// As a crash. start() may follow, on the same port.
  async stop() {
    const ended = new Promise((resolve) => { this.child.on('exit', resolve); });
    this.kill();
    await ended;
  }
}

export class Postgres extends Service {
  deathSignal = 'SIGQUIT';  // at once, and the processes it made with it

  static async start() {
    const service = new Postgres();
    service.programs = postgresPrograms();
    service.port = await freePort();
    if (asNobody.length > 0) chownSync(service.folder, 65534, 65534);
    run([...asNobody, join(service.programs, 'initdb'), '-D', join(service.folder, 'data'), '-U',
         'strata', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']);
    await service.start();
    return service;
  }
  async start() {
    await this.launch(
        [join(this.programs, 'postgres'), '-D', join(this.folder, 'data'), '-p',
         `${this.port}`, '-k', this.folder, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off',
         '-c', 'shared_buffers=8MB', '-c', 'max_connections=60'],
        () => spawnSync(join(this.programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', this.port])
            .status === 0,
        asNobody);
  }
  /// The last answer's rows, a line each, of an administrator's statement.
  sql(statement, database = 'postgres') {
    return run(['psql', '-XAtq', '-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'strata', '-d',
                database, '-c', statement]).trim();
  }
  /// Keeps everybody else from `table` until what this answers is called.
  async hold(table, database) {
    const holder = spawn('psql', ['-XAtq', '-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'strata',
                                  '-d', database, '-c',
                                  `BEGIN; LOCK TABLE ${table}; SELECT pg_sleep(60)`],
                         { stdio: 'ignore' });
    const ended = new Promise((resolve) => { holder.on('exit', resolve); });
    await until(() => this.someSession(database, "wait_event = 'PgSleep'"), 'the table to be held');
    return () => {
      holder.kill('SIGKILL');
      return ended;
    };
  }
  /// Whether a session of the database is in the state `what`, a condition on pg_stat_activity.
  someSession(database, what) {
    return Number(this.sql(`SELECT count(*) FROM pg_stat_activity ` +
                           `WHERE datname = '${database}' AND ${what}`)) > 0;
  }
  /// Strata's tables in the database that `url` names, as text.
  dump(url) {
    return run(['pg_dump', '-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'strata',
                '--schema=strata', new URL(url).pathname.slice(1)]);
  }
  /// The URL of a database that is new, or holds what dump() answered.
  database(name, dump = '') {
    this.sql(`CREATE DATABASE ${name}`);
    run(['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', `${this.port}`, '-U',
         'strata', '-d', name], { input: dump });
    return `postgresql://strata:${secret}@127.0.0.1:${this.port}/${name}`;
  }
}

export class Redis extends Service {
  static async start() {
    const service = new Redis();
    service.port = await freePort();
    service.url = `redis://:${secret}@127.0.0.1:${service.port}`;
    await service.start();
    return service;
  }
  async start() {
    await this.launch(
        [kRedis, '--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder, '--save',
         '', '--appendonly', 'no', '--requirepass', kPassword],
        () => this.command('PING') === 'PONG');
  }
  command(...words) {
    return spawnSync('redis-cli', ['-p', `${this.port}`, ...words],
                     { encoding: 'utf8', env: { ...process.env, REDISCLI_AUTH: kPassword } })
        .stdout.trim();
  }
}
