// The vocabulary of tests/cases/door.jsonl (its README says what each word means): one row is
// played over a socket, then what must be true of its stream is looked at in the answers, through
// the view and in the files.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { batchFiles, readParquet } from './independent.mjs';

export const kKb = 'cases';
const kUuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const kLegalId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export const kIngest = (stream) => `/knowledgebase/${kKb}/strata/ingest/${stream}`;

/// A text, {"hex"}, {"text", "times", "between"?} in which {n} counts from 0, or a list of these.
export function bytesOf(body) {
  if (typeof body === 'string') return Buffer.from(body);
  if (Array.isArray(body)) return Buffer.concat(body.map(bytesOf));
  if (body.hex !== undefined) return Buffer.from(body.hex, 'hex');
  const { text, times, between = '' } = body;
  const parts = Array.from({ length: times }, (_, n) => text.replaceAll('{n}', `${n}`));
  return Buffer.from(parts.join(between));
}

const kEncoders = {
  gzip: zlib.gzipSync,
  'x-gzip': zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
};

/// A refusal as RFC 9457 has it, which tells no path of the server's.
export function expectProblem(server, answer, { status, code, says = [], errors }) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/problem+json', answer.text);
  const { json } = answer;
  assert.deepEqual({ status: json.status, code: json.code, type: json.type },
                   { status, code, type: `urn:strata:error:${code}` });
  assert.ok(json.title.length > 0);
  assert.equal(json.request_id, answer.headers['x-request-id']);
  assert.ok(!answer.text.includes(server.data), `a server path: ${answer.text}`);
  for (const text of says) {
    assert.ok(json.detail.toLowerCase().includes(text.toLowerCase()),
              `"${text}" is not said: ${json.detail}`);
  }
  if (errors !== undefined) expectErrors(json, errors);
}

/// `errors`: [line, text of the reason, column?], all there are.
function expectErrors(json, errors) {
  assert.deepEqual(json.errors.map(({ line }) => line), errors.map(([line]) => line),
                   JSON.stringify(json.errors));
  assert.equal(json.error_count, errors.length);
  for (const [index, [, text, column]] of errors.entries()) {
    const { reason, column: named } = json.errors[index];
    assert.ok(reason.includes(text), `"${text}" is not said: ${reason}`);
    if (column !== undefined) assert.equal(named, column);
  }
}

/// What a row's streams were told and must therefore hold.
class Ledger {
  landed = new Map();   // batch id, or a UUID for none, to rows
  refused = new Map();  // legal id to the body that failed/ has to hold
  unnamed = [];         // bodies refused under no id, or under an illegal one

  note(step, id, body, answer) {
    if (answer.status === 200 && !answer.json.replayed) {
      this.landed.set(answer.json.batch_id, answer.json.rows);
    } else if (answer.status === 400 && step.kept !== false) {
      if (id !== null && kLegalId.test(id)) this.refused.set(id, body);
      else this.unnamed.push(body);
    }
  }
}

export class Play {
  static created = new Set();  // every stream that some row asked for

  constructor(server, row, stream) {
    Object.assign(this, { server, row, stream });
    this.ledgers = new Map();  // by stream
    this.tally = 0;
  }

  get view() { return `raw_extracted.stream_${this.stream}`; }
  ledger(stream) {
    if (!this.ledgers.has(stream)) this.ledgers.set(stream, new Ledger());
    return this.ledgers.get(stream);
  }
  filled(text) { return text.replaceAll('{stream}', this.stream).replaceAll('{view}', this.view); }

  async create(stream, settings = {}) {
    await this.server.createReceiver(kKb, stream, settings);
    Play.created.add(stream);
    this.ledger(stream);
  }

  /// Leaves the files of the row out of what is looked at in the end.
  forget() { this.ledgers.clear(); }

  /// The row's steps, then its script, if it has one; then what its streams must hold.
  async run(script, context) {
    const { receivers = { '{stream}': {} }, steps = [] } = this.row;
    for (const [name, settings] of Object.entries(receivers)) {
      const stream = this.filled(name);
      await this.create(stream, settings);
    }
    for (const step of steps) {
      this.tally += 1;
      try {
        await this.step(step);
      } catch (error) {
        error.message = `step ${this.tally}: ${error.message}`;
        throw error;
      }
    }
    if (this.row.script !== undefined) await script(this, context);
    for (const [stream, ledger] of this.ledgers) await expectHeld(this.server, stream, ledger);
  }

  step(step) {
    if (step.post !== undefined) return this.post(step);
    if (step.request !== undefined) return this.request(step);
    if (step.sql !== undefined) return this.sql(step);
    if (step.columns !== undefined) return this.whole(step);
    if (step.restart) return this.server.restart();
    throw new Error(`no such step: ${JSON.stringify(step)}`);
  }

  async post(step) {
    const plain = bytesOf(step.post);
    const id = step.id === undefined ? `${this.row.id}-${this.tally}` : step.id;
    const type = step.type === undefined ? 'application/x-ndjson' : step.type;
    const { encoding, wire } = step;
    const encode = kEncoders[encoding] ?? ((bytes) => bytes);
    const sent = wire === undefined ? encode(plain) : bytesOf(wire);
    const headers = { 'Content-Length': sent.length, ...step.headers };
    if (type !== null) headers['Content-Type'] = type;
    if (id !== null) headers['Idempotency-Key'] = id;
    if (encoding !== undefined) headers['Content-Encoding'] = encoding;
    if (step.chunked) {
      delete headers['Content-Length'];
      headers['Transfer-Encoding'] = 'chunked';
    }
    const stream = this.filled(step.to ?? '{stream}');
    const answer = await this.server.request('POST', kIngest(stream), { headers, body: sent });
    this.expect(answer, step);
    if (this.ledgers.has(stream)) this.ledger(stream).note(step, id, plain, answer);
  }

  async request(step) {
    const [method, path] = this.filled(step.request).split(' ');
    const { json, headers = {} } = step;
    const body = json === undefined ? undefined : JSON.stringify(json);
    if (json !== undefined) headers['Content-Type'] = 'application/json';
    this.expect(await this.server.request(method, path, { headers, body }), step);
  }

  expect(answer, step) {
    if (step.code !== undefined) {
      const says = (step.says ?? []).map((text) => this.filled(text));
      expectProblem(this.server, answer, { ...step, says });
    }
    assert.equal(answer.status, step.status, answer.text);
    if (step.answers !== undefined) {
      const told = JSON.parse(this.filled(JSON.stringify(step.answers)));
      const found = Object.keys(told).map((name) => [name, answer.json[name]]);
      assert.deepEqual(Object.fromEntries(found), told);
    }
    for (const [name, text] of Object.entries(step.says_header ?? {})) {
      assert.ok((answer.headers[name.toLowerCase()] ?? 'no such header').includes(text),
                `${name}: ${answer.headers[name.toLowerCase()]}`);
    }
    assert.match(answer.headers['x-request-id'], kUuidV7);
  }

  async sql(step) {
    assert.deepEqual(await this.server.rows(kKb, this.filled(step.sql)), step.is);
  }

  /// The whole view: its columns in order, and every cell.
  async whole({ columns, rows, of = '{stream}' }) {
    const answer = await this.server.query(
        kKb, `SELECT * EXCLUDE (filename, _batch_id) FROM raw_extracted.stream_${this.filled(of)}`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.columns.map(({ name }) => name), columns);
    const inOrder = (list) => list.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(inOrder(answer.json.rows), inOrder(rows));
  }
}

const filesIn = (folder) => (existsSync(folder) ? readdirSync(folder).sort() : []);

/// That data/ holds the landed batches and nothing else, each whole and all text; failed/ the
/// refused bodies byte for byte; and that the receiver's numbers say the same.
async function expectHeld(server, stream, { landed, refused, unnamed }) {
  const folder = server.streamFolder(kKb, stream);
  assert.deepEqual(batchFiles(folder).map((path) => path.split('/').at(-1)).sort(),
                   [...landed.keys()].map((id) => `${id}.parquet`).sort(), `${stream}: data/`);
  let rows = 0;
  for (const path of batchFiles(folder)) {
    const file = await readParquet(path);
    assert.deepEqual([...file.types], ['UTF8'], path);
    assert.equal(file.rowCount, landed.get(file.keyValues.get('batch_id')), path);
    rows += file.rowCount;
  }
  const kept = filesIn(join(folder, 'failed'));
  const bodies = kept.filter((name) => name.endsWith('.ndjson'));
  const ofServer = bodies.filter((name) => !refused.has(name.replace(/\.ndjson$/, '')));
  for (const [id, body] of refused) {
    assert.ok(readFileSync(join(folder, 'failed', `${id}.ndjson`)).equals(body), `failed/ ${id}`);
  }
  const digests = (list) => list.map((body) => body.toString('base64')).sort();
  assert.deepEqual(digests(ofServer.map((name) => readFileSync(join(folder, 'failed', name)))),
                   digests(unnamed), `${stream}: failed/`);
  for (const name of ofServer) assert.match(name.replace(/\.ndjson$/, ''), kUuidV7);
  const shown = await server.receiver(kKb, stream);
  assert.deepEqual({ files: shown.files, rows: shown.rows, rejected: shown.rejected },
                   { files: landed.size, rows, rejected: refused.size + unnamed.length });
}
