// node measure.mjs overhead|isolation: what a query through the gateway costs beside ATTACH, query
// and DETACH on a live DuckDB of one's own; and what ingest feels of a hundred hostile queries.
// Prints, and judges nothing: figures are for a quiet machine and a release build (STRATA_PROGRAM).
import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { repository, startWith, until } from '../e2e/harness.mjs';
import { ingest, shareOf, shown } from '../e2e/pace.mjs';
import { listedChildren } from '../e2e/processes.mjs';
import { kKb, linesOf, startKnowledgebase, withPlaces } from './knowledgebase.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

async function timed(action) {
  const begun = performance.now();
  await action();
  return performance.now() - begun;
}

async function overhead() {
  const kRounds = 300;
  for (const views of [1, 200]) {
    const names = Array.from({ length: views }, (_, n) => `s${n}`);
    const server = await startWith(kKb, names);
    for (const name of names) await server.land(kKb, name, [{ a: '1' }, { a: '2' }], 'b');
    const ready = async () => (await server.rows(kKb, 'SHOW TABLES')).length === views;
    await until(ready, 'the views');
    const sql = 'SELECT a, count(*) FROM raw_extracted.stream_s0 GROUP BY a ORDER BY a';
    const live = await (await DuckDBInstance.create(':memory:')).connect();
    const file = join(server.kbFolder(kKb), 'knowledgebase.duckdb');
    const ours = [];
    const theirs = [];
    for (let round = 0; round < kRounds; ++round) {
      ours.push(await timed(() => server.rows(kKb, sql)));
      theirs.push(await timed(async () => {
        await live.run(`ATTACH '${file}' AS knowledgebase (READ_ONLY)`);
        await live.run('USE knowledgebase');
        await live.runAndReadAll(sql);
        await live.run('USE memory');
        await live.run('DETACH knowledgebase');
      }));
    }
    const [gateway, attached] = [ours, theirs].map((times) => shareOf(times, 0.5));
    console.log(`${views} view(s), p50 of ${kRounds}: gateway ${shown(gateway)}, ` +
        `ATTACH + query + DETACH ${shown(attached)}, difference ${shown(gateway - attached)}`);
    live.closeSync();
    await server.stop();
  }
}

/// Regular files written below `folder` since `stamp`.
const writtenSince = (folder, stamp) => execFileSync(
    'find', [folder, '-type', 'f', '-newer', stamp], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split('\n').filter((name) => name !== '');

/// Bytes that the workers of the process `server` gave any disk to write, as far as they lived to
/// be asked. Whoever first reads a landed file has its time of access written, which counts too
/// once the disk has written out what landed: a few pages in a run, none under noatime.
class WorkerWrites {
  constructor(server) {
    this.bytes = new Map();
    this.timer = setInterval(
        () => listedChildren(server).forEach((pid) => this.look(pid)), 100);
  }
  look(pid) {
    try {
      const [, bytes] = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'));
      this.bytes.set(pid, Number(bytes));
    } catch {
      // It ended meanwhile.
    }
  }
  end() {
    clearInterval(this.timer);
    return [...this.bytes.values()];
  }
}

/// A process that asks statements, four at a time: reading the answers, and what the kernel says of
/// workers, which waits while one of them starts or ends, must not hold up the producer, whose
/// times are taken here. Nor must its start: it is there when this returns.
async function startAttacker(server) {
  const child = fork(fileURLToPath(import.meta.url), ['attacker', server.url, String(server.pid)],
                     { serialization: 'json' });
  const next = () => new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`the attacker ended by itself: ${code}`)));
  });
  await next();
  return {
    /// What came of the statements: { codes, writes }.
    ask: (statements) => {
      const seen = next();
      child.send(statements);
      return seen;
    },
    end: () => child.kill('SIGKILL'),
  };
}

async function askAll(url, pid, statements) {
  const writes = new WorkerWrites(pid);
  const codes = {};
  const askInTurn = async () => {
    for (let sql; (sql = statements.pop()) !== undefined;) {
      const answer = await fetch(`${url}/knowledgebase/${kKb}/strata/query`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ sql, timeout_ms: 1500 }),
      });
      const text = await answer.text();
      const code = answer.status === 200 ? 'ok' : JSON.parse(text).code;
      codes[code] = (codes[code] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 4 }, askInTurn));
  return { codes, writes: writes.end() };
}

const kAttackerWarmUp = 40;
async function attacker(url, pid) {
  process.on('message', async (statements) => process.send(await askAll(url, pid, statements)));
  // The first answers cost a tenth of a second of this process's own code.
  await askAll(url, pid, Array(kAttackerWarmUp).fill('SELECT 1'));
  process.send('ready');
  await new Promise(() => {});  // until it is killed
}

async function isolation() {
  const kPerSecond = 200;
  const kCount = 100;
  const kRounds = 5;
  const server = await startKnowledgebase();
  const lines = linesOf('hostile.jsonl');
  // The bombs over and over: what is refused costs nobody anything.
  const bombs = lines.filter(({ kind }) => kind === 'bomb').map(({ sql }) => sql);
  const hostile = Array.from({ length: kCount }, (_, n) => n % 2 === 0
      ? bombs[n / 2 % bombs.length]
      : withPlaces(lines[n * 7 % lines.length].sql, server));
  const stamp = join(server.data, 'strata.json');
  const attack = await startAttacker(server);
  const small = () => server.post(kKb, 'weather', '{"day":"2026-03-01","city":"Oslo"}\n', {});
  await ingest(small, kPerSecond, (() => { let n = 0; return () => ++n < 200; })());
  execFileSync('touch', [stamp]);
  await sleep(20);

  // By turns, since the disk of a shared machine has better minutes and worse ones.
  const writes = [];
  const calm = [];
  const beside = [];
  const times = [];
  const codes = {};
  for (let round = 0; round < kRounds; ++round) {
    const calmUntil = performance.now() + 5_000;
    const alone = await ingest(small, kPerSecond, () => performance.now() < calmUntil);
    let ended = false;
    const asked = attack.ask(hostile.splice(0, kCount / kRounds))
        .finally(() => { ended = true; });
    const attacked = await ingest(small, kPerSecond, () => !ended);
    calm.push(...alone);
    beside.push(...attacked);
    times.push(shareOf(attacked, 0.99) / shareOf(alone, 0.99));
    const seen = await asked;
    for (const [code, count] of Object.entries(seen.codes)) {
      codes[code] = (codes[code] ?? 0) + count;
    }
    writes.push(...seen.writes);
  }
  const kOurs = /\/(data|ids\/..|_tmp|numbers|generations)\/|\/staging\//;
  const strange = writtenSince(server.data, stamp).filter((name) => !kOurs.test(name));
  console.log(`ingest at ${kPerSecond}/s without queries: ${calm.length} batches, p50 ` +
      `${shown(shareOf(calm, 0.5))}, p99 ${shown(shareOf(calm, 0.99))}`);
  console.log(`during ${kCount} hostile queries: ${beside.length} batches, p50 ` +
      `${shown(shareOf(beside, 0.5))}, p99 ${shown(shareOf(beside, 0.99))}: ` +
      `${(shareOf(beside, 0.99) / shareOf(calm, 0.99)).toFixed(2)} times`);
  // One request that the disk holds for a tenth of a second is twenty batches, in either half.
  console.log(`p99 by rounds: ${times.map((each) => each.toFixed(2)).join(', ')} times; median ` +
      shareOf(times, 0.5).toFixed(2));
  attack.end();
  const lives = server.child.exitCode === null;
  console.log(`answers: ${JSON.stringify(codes)}; the server lives: ${lives}`);
  console.log(`written: ${writes.reduce((sum, bytes) => sum + bytes, 0)} bytes by ` +
      `${writes.length} workers; files that are none of ingest's: ${strange.length} ` +
      strange.join(' '));
  await server.stop();
}

const [what, url, pid] = process.argv.slice(2);
const act = { overhead, isolation, attacker: () => attacker(url, pid) }[what];
assert.ok(act, 'node measure.mjs overhead|isolation');
await act();
process.exit(0);
