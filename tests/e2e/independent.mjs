// node independent.mjs ROOT: recomputes what the batch files of a root say of themselves, from the
// rules in docs/ARCHITECTURE.md alone. Shares no code with Strata: Parquet is read by hyparquet,
// digests are Node's. One line per batch that differs; exit 1 if any does.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parquetMetadata, parquetRead } from '../../deps/node_modules/hyparquet/src/index.js';
import { compressors } from '../../deps/node_modules/hyparquet-compressors/src/index.js';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/// A Parquet file's columns in order, rows as arrays of text or null, and key-value metadata.
export async function readParquet(path) {
  const bytes = readFileSync(path);
  // A copy with a buffer of its own: hyparquet looks at the whole ArrayBuffer.
  const file = new Uint8Array(bytes).buffer;
  const metadata = parquetMetadata(file);
  const columns = metadata.schema.slice(1).map(({ name }) => name);
  const types = new Set(metadata.schema.slice(1).map((column) => column.converted_type));
  let rows = [];
  await parquetRead({ file, metadata, compressors, onComplete: (all) => { rows = all; } });
  const keyValues = new Map((metadata.key_value_metadata ?? []).map(
      ({ key, value }) => [key, value]));
  return { bytes, columns, types, keyValues, rowCount: Number(metadata.num_rows),
           rows: rows.map((row) => Array.from(row, (cell) => cell ?? null)) };
}

const lengthOf = (bytes) => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return length;
};

/// SHA-256 over the rows in order: in a row the cells that are not NULL, sorted by the bytes of
/// their column's name, each as 4-byte little-endian length and name, length and text; after each
/// row FF FF FF FF. `rows` are lists of [name, text or null].
export function contentSha256(rows) {
  const hash = createHash('sha256');
  for (const row of rows) {
    const cells = row.filter(([, text]) => text !== null)
                      .map(([name, text]) => [Buffer.from(name), Buffer.from(text)])
                      .sort(([a], [b]) => Buffer.compare(a, b));
    for (const part of cells.flat()) hash.update(lengthOf(part)).update(part);
    hash.update(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  }
  return hash.digest('hex');
}

/// SHA-256 over the file with its own 64 digits, which stand once in its footer, as ASCII 0.
export function fileSha256(bytes, digits) {
  const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
  const at = bytes.indexOf(digits, footer, 'latin1');
  if (at < 0 || digits.length !== 64) return 'no digest in the footer';
  if (bytes.indexOf(digits, at + 1, 'latin1') >= 0) return 'two digests in the footer';
  const zeroed = Buffer.from(bytes);
  zeroed.fill('0', at, at + 64);
  return sha256(zeroed);
}

/// The first two hex digits of the SHA-256 of an id.
export const shardOf = (id) => sha256(id).slice(0, 2);

const sameFile = (a, b) => a.ino === b.ino && a.dev === b.dev;

/// What is wrong with one batch's file: a list of sentences.
export async function verifyBatch(path) {
  const stream = dirname(dirname(path));
  const id = basename(path, '.parquet');
  const { bytes, columns, types, rows, rowCount, keyValues } = await readParquet(path);
  const problems = [];
  const expect = (what, said, found) => {
    if (said !== found) problems.push(`${what} says ${said}, and is ${found}`);
  };
  const own = columns.slice(0, -1);
  const named = rows.map((row) => own.map((name, index) => [name, row[index]]));
  expect('batch_id', keyValues.get('batch_id'), id);
  expect('kb', keyValues.get('kb'), basename(dirname(dirname(dirname(stream)))));
  expect('stream', keyValues.get('stream'), basename(stream));
  expect('partition', keyValues.get('partition'), '');
  expect('rows', keyValues.get('rows'), `${rows.length}`);
  expect('columns', keyValues.get('columns'), `${own.length}`);
  expect('content_sha256', keyValues.get('content_sha256'), contentSha256(named));
  expect('file_sha256', keyValues.get('file_sha256'),
         fileSha256(bytes, keyValues.get('file_sha256') ?? ''));
  expect('the number of rows in the footer', rowCount, rows.length);
  expect('the type of every column', 'UTF8', [...types].join());
  expect('the last column', columns.at(-1), '_batch_id');
  for (const row of rows) expect('_batch_id', row.at(-1), id);
  const claim = statSync(join(stream, 'ids', shardOf(id), id), { throwIfNoEntry: false });
  expect('the claim in its shard', claim !== undefined && sameFile(claim, statSync(path)), true);
  return problems;
}

const foldersIn = (folder) => readdirSync(folder, { withFileTypes: true })
                                  .filter((entry) => entry.isDirectory())
                                  .map((entry) => join(folder, entry.name));

/// The batch files of one stream, by path.
export function batchFiles(stream) {
  return readdirSync(join(stream, 'data'))
      .filter((name) => name.endsWith('.parquet') && !name.startsWith('.'))
      .sort().map((name) => join(stream, 'data', name));
}

/// Files, rows and bytes of a stream, counted anew.
export async function countStream(stream) {
  const count = { files: 0, rows: 0, bytes: 0 };
  for (const path of batchFiles(stream)) {
    const { bytes, rowCount } = await readParquet(path);
    count.files += 1;
    count.rows += rowCount;
    count.bytes += bytes.length;
  }
  return count;
}

/// Every batch of a root: how many, and what is wrong with which.
export async function verifyRoot(root) {
  const streams = foldersIn(join(root, 'kb')).flatMap(
      (kb) => foldersIn(join(kb, 'strata/streams')));
  const report = { batches: 0, problems: [] };
  for (const path of streams.flatMap(batchFiles)) {
    report.batches += 1;
    const problems = await verifyBatch(path);
    report.problems.push(...problems.map((problem) => `${relative(root, path)}: ${problem}`));
  }
  return report;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { batches, problems } = await verifyRoot(process.argv[2]);
  for (const problem of problems) console.log(problem);
  console.log(`${batches} batches, ${problems.length} problems`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
