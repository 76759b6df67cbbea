// The servers that are measured. Each has a fresh folder, a process, a port and streams.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, end, freePort, launch, mustAsk, output, until } from './processes.mjs';
import { pythonEnvironment } from './python.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const kBodyBytesMax = 4 * 1024 * 1024;
const kb = 'bench';
const kPeerWorkers = 2;

/// `strata serve`, with its own encoder or, by `env`, with DuckDB's COPY.
export class Strata {
  constructor({ program, folder, env = {} }) {
    this.program = program;
    this.folder = folder;
    this.env = env;
  }

  async start() {
    mkdirSync(this.folder, { recursive: true });
    const log = `${this.folder}.log`;
    const logged = existsSync(log) ? readFileSync(log).length : 0;
    const begun = performance.now();
    this.child = launch(
        this.program, ['serve', '--listen', '127.0.0.1:0', '--data', this.folder],
        { env: this.env, log });
    let over = false;
    this.child.ended.then(() => { over = true; });
    await until(() => {
      const text = readFileSync(log).subarray(logged).toString();
      if (over) throw new Error(`strata serve ended:\n${text}`);
      this.port = Number(/listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1] ?? 0);
      return this.port !== 0;
    }, 'strata serve');
    await until(async () => (await ask(this.port, 'GET', '/readyz')).status === 200, '/readyz');
    this.startMilliseconds = performance.now() - begun;
    return this;
  }

  get pid() { return this.child.pid; }
  createKb() { return mustAsk(this.port, 'POST', '/knowledgebase', { id: kb }); }
  createStream(stream) {
    return mustAsk(this.port, 'POST', `/knowledgebase/${kb}/strata/receivers`,
                   { stream, max_body_bytes: kBodyBytesMax });
  }
  receiver(stream) {
    return mustAsk(this.port, 'GET', `/knowledgebase/${kb}/strata/receivers/${stream}`);
  }
  query(sql) {
    return mustAsk(this.port, 'POST', `/knowledgebase/${kb}/strata/query`,
                   { sql, timeout_ms: 60_000 });
  }
  ingestPath(stream) { return `/knowledgebase/${kb}/strata/ingest/${stream}`; }
  dataFolder(stream) { return join(this.folder, 'kb', kb, 'strata/streams', stream, 'data'); }
  stop() { return end(this.child); }
}

/// bench/peer_python.py under uvicorn.
export class Peer {
  constructor({ venv, folder, settings }) {
    this.venv = venv;
    this.folder = folder;
    this.settings = settings;
  }

  async start() {
    mkdirSync(this.folder, { recursive: true });
    this.port = await freePort();
    this.child = launch(join(this.venv, 'bin/uvicorn'), [
      'peer_python:application', '--app-dir', here, '--host', '127.0.0.1',
      '--port', String(this.port), '--workers', String(kPeerWorkers), '--no-access-log',
      '--log-level', 'warning', '--loop', 'uvloop', '--http', 'httptools', '--lifespan', 'off',
    ], {
      env: {
        PEER_FOLDER: this.folder,
        PEER_WRITER: this.settings.writer,
        PEER_THREADS: String(this.settings.threads),
        PYTHONDONTWRITEBYTECODE: '1',
      },
      log: `${this.folder}.log`,
    });
    await until(async () => (await ask(this.port, 'GET', '/')).status === 200, 'the peer');
    return this;
  }

  get pid() { return this.child.pid; }
  async createKb() {}
  async createStream() {}
  ingestPath(stream) { return `/knowledgebase/${kb}/strata/ingest/${stream}`; }
  stop() { return end(this.child); }
}

/// A virtual environment with the peer's packages, made where it is missing. Throws where they
/// cannot be had.
export async function peerEnvironment() {
  const { folder: venv, python } = await pythonEnvironment({
    name: 'strata-bench-venv',
    place: process.env.BENCH_VENV,
    imports: 'import duckdb, httptools, orjson, pyarrow, uvicorn, uvloop',
    requirements: join(here, 'peer_requirements.txt'),
  });
  const versions = await output(python, ['-m', 'pip', 'list', '--format=freeze']);
  return { venv, versions: versions.trim().split('\n') };
}
