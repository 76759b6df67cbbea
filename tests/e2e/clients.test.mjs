// The clients of docs/CLIENTS.md as they are printed, while the server is killed between and during
// their sends, and while they are killed themselves: nothing lost, doubled, torn or made up.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { check, History, kNothingWrong, readView } from './checker.mjs';
import { freshFolder, kKillPointExit, ndjson, repository, startWith, until } from './harness.mjs';

const kPage = readFileSync(join(repository, 'docs/CLIENTS.md'), 'utf8');
function printed(language) {
  const found = [...kPage.matchAll(/^```(.*)\n([^]*?)^```$/gm)].filter(([, of]) => of === language);
  assert.equal(found.length, 1, `one block of ${language}`);
  return found[0][2];
}

/// As a user would have it: no proxy between the client and this machine.
const kEnvironment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)));

/// Each: the tool, what to run in a folder, and how records get to it.
const kClients = {
  curl: { file: 'client.sh', language: 'sh curl', command: ['sh', '../client.sh'] },
  python3: { file: 'client.py', language: 'python', command: ['python3', '../client.py', '.'] },
  node: { file: 'client.mjs', language: 'js', command: ['node', '../client.mjs', '.'] },
};

function missing(tool) {
  if (spawnSync(tool, ['--version']).status === 0) return false;
  assert.notEqual(process.env.STRATA_REQUIRE_ALL, '1', `${tool} is missing`);
  return `${tool} is missing`;
}

class Client {
  constructor(tool, url) {
    const { file, language, command } = kClients[tool];
    Object.assign(this, { tool, url, command });
    const folder = freshFolder();
    writeFileSync(join(folder, file), printed(language));
    this.spool = join(folder, 'spool');
    mkdirSync(this.spool);
  }

  /// Runs it on these batches; curl's are files, the others' come by 1,000 on their input.
  run(batches) {
    if (this.tool === 'curl') {
      batches.forEach(({ id, rows }) => writeFileSync(join(this.spool, `${id}.ndjson`),
                                                      ndjson(rows)));
    }
    const [program, ...args] = this.command;
    const env = { ...kEnvironment, URL: this.url };
    this.child = spawn(program, args, { cwd: this.spool, env, detached: true });
    this.said = '';
    this.child.stderr.on('data', (text) => { this.said += text; });
    this.child.stdout.on('data', (text) => { this.said += text; });
    this.child.stdin.on('error', () => {});  // curl does not read it
    this.child.stdin.end(ndjson(batches.flatMap(({ rows }) => rows)));
    this.over = false;
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code) => {
        this.over = true;
        resolve(code);
      });
    });
  }

  /// With what it has started: all of its process group.
  async kill() {
    process.kill(-this.child.pid, 'SIGKILL');
    await this.ended;
  }

  waiting() {
    return readdirSync(this.spool).filter((name) => !/\.(new|refused|answer)$/.test(name));
  }
}

const kRowsOfBatch = 1000;
const batchesOf = (name, count) => Array.from({ length: count }, (_, n) => ({
  id: `${name}-${n}`,
  rows: Array.from({ length: kRowsOfBatch }, (_, k) => ({ batch: `${name}-${n}`, k: `${k}`,
                                                          text: 'é\u2028\u0085"' })),
}));

/// What the clients sent, under the ids that the server knows; a batch it does not know is lost.
async function expectAllOnce(server, stream, batches) {
  const seen = await readView(server, 'demo', stream);
  const sql = `SELECT DISTINCT batch, _batch_id FROM raw_extracted.stream_${stream}`;
  const ids = new Map();
  for (const [batch, id] of await server.rows('demo', sql)) {
    assert.ok(!ids.has(batch), `${batch} is there under two ids`);
    ids.set(batch, id);
  }
  const history = new History();
  for (const { id, rows } of batches) history.ok(history.invoke(ids.get(id) ?? id, rows));
  assert.deepEqual(check(history, seen), kNothingWrong);
  assert.equal(seen.size, batches.length);
}

/// Where the server dies, one after the other; then it stays.
const kDeaths = ['publish:after_sync#2', 'publish:after_claim#2', 'publish:after_rename#2',
                 'publish:after_data_sync#2', 'publish_loser:after_shard_sync'];

for (const tool of Object.keys(kClients)) {
  test(`the client in ${tool}, as printed`, { skip: missing(tool) }, async () => {
    const server = await startWith('demo', ['s']);
    const { port } = server;
    server.options.listen = `127.0.0.1:${port}`;
    const client = new Client(tool, `${server.url}/knowledgebase/demo/strata/ingest/s`);
    const first = batchesOf('first', 12);
    const again = async (death) => {
      await until(async () => {
        try {
          await server.begin(death === undefined ? {} : { STRATA_CRASH_AT: death });
          return true;
        } catch {
          return false;  // the port is not free yet
        }
      }, 'the server again');
    };

    // It starts without a server, is killed itself in the middle, and finishes in a second run.
    await server.kill();
    client.run(first);
    await again(kDeaths[0]);
    for (const death of kDeaths.slice(1)) {
      assert.equal((await server.exited()).code, kKillPointExit);
      await again(death);
    }
    assert.equal((await server.exited()).code, kKillPointExit, 'a retry came as a replay');
    await again('publish:after_rename#2');
    assert.equal((await server.exited()).code, kKillPointExit);
    await client.kill();
    assert.ok(client.waiting().length > 0, 'the spool holds what had no answer');
    await again();
    await server.kill();
    client.run([]);
    await again();
    assert.equal(await client.ended, 0, client.said);
    await expectAllOnce(server, 's', first);

    // Killed at any time, between sends and during one.
    const second = batchesOf('second', 12);
    client.run(second);
    for (let kills = 0; kills < 4 && !client.over; ++kills) {
      const before = (await server.receiver('demo', 's')).files;
      await until(async () => client.over ||
                    (await server.receiver('demo', 's')).files > before, 'a batch');
      await server.kill();
      await again();
    }
    assert.equal(await client.ended, 0, client.said);
    await expectAllOnce(server, 's', [...first, ...second]);
    assert.deepEqual(client.waiting(), []);

    // A refusal is told and its batch kept; it is not sent for ever.
    const bad = [{ id: 'bad-0', rows: [{ filename: 'a.pdf' }] }];
    client.run(bad);
    await client.ended;
    assert.match(client.said, /bad_batch/);
    const kept = readdirSync(client.spool).filter((name) => /(refused|ndjson)$/.test(name));
    assert.deepEqual(kept.map((name) => readFileSync(join(client.spool, name), 'utf8').trim()),
                     [ndjson(bad[0].rows).trim()]);
    await expectAllOnce(server, 's', [...first, ...second]);
    await server.stop();
  });
}
