// Batches of which every body is another: coding, order of keys, blanks, line ends and escapes
// vary, the cells do not. And bodies in which one cell says something else.
import { gzipSync } from 'node:zlib';
import { below, oneOf, shuffled } from '../e2e/random.mjs';

/// A cell by its kind: JSON that stands for the same text, and what stands for another.
const kKinds = [
  (n) => ({ same: [`"text ${n}"`, `"\\u0074ext\\u0020${n}"`], other: `"text ${n}!"` }),
  (n) => ({ same: [`${n}.50`, `"${n}.50"`], other: `${n}.5` }),
  (n) => ({ same: [`${n}e5`], other: `${n}E5` }),
  (n) => ({ same: [`12345678901234567${n}`], other: `12345678901234568${n}` }),
  () => ({ same: ['true', '"true"'], other: 'false' }),
  (n) => ({ same: [`{"x":[${n},2.5],"y":null}`, `{ "x" : [ ${n} ,\t2.5 ],"y": null}`],
            other: `{"y":null,"x":[${n},2.5]}` }),
  () => ({ same: ['null', undefined], other: '""' }),
];
const kRowsMax = 3;
const kBlanks = ['', '', ' ', '\t', '  '];

/// Rows of cells, each `{ key, same, other }`. The first of a row is never NULL: no row is empty.
export function makeBatch(random) {
  return Array.from({ length: 1 + below(random, kRowsMax) }, () => {
    const kinds = shuffled(random, kKinds.keys()).slice(0, 1 + below(random, kKinds.length));
    return [0, ...kinds.filter((kind) => kind !== 0)].map(
        (kind) => ({ key: `c${kind}`, ...kKinds[kind](below(random, 1000)) }));
  });
}

/// One zstd frame of one raw block: no program and no library is needed to write it.
function zstdFrame(bytes) {
  const frame = Buffer.alloc(12);
  frame.writeUInt32LE(0xfd2fb528, 0);
  frame.writeUInt8(0xa0, 4);  // one segment, its length in four bytes
  frame.writeUInt32LE(bytes.length, 5);
  frame.writeUIntLE(bytes.length * 8 + 1, 9, 3);  // the last block, raw
  return Buffer.concat([frame, bytes]);
}
const kCodings = [
  { headers: {}, code: (bytes) => bytes },
  { headers: { 'Content-Encoding': 'gzip' }, code: (bytes) => gzipSync(bytes) },
  { headers: { 'Content-Encoding': 'zstd' }, code: zstdFrame },
];

function line(random, row, changed) {
  const blank = () => oneOf(random, kBlanks);
  const members = shuffled(random, row.keys()).flatMap((n) => {
    const { key, same, other } = row[n];
    const value = n === changed ? other : oneOf(random, same);
    if (value === undefined) return [];
    const name = random() < 0.2 ? `\\u0063${key.slice(1)}` : key;
    return [`${blank()}"${name}"${blank()}:${blank()}${value}${blank()}`];
  });
  return `${blank()}{${members.join()}}${blank()}${oneOf(random, ['\n', '\r\n', '\n\n'])}`;
}

/// A cell of `batch`, as its row's number and its own.
export function pickCell(random, batch) {
  const row = below(random, batch.length);
  return [row, below(random, batch[row].length)];
}

/// A body of `batch`, differently written at each call; the cell at `changed` says something else.
/// Answers its text, and the bytes and headers that bring it.
export function encode(random, batch, changed) {
  const lines = batch.map((row, n) => line(random, row, n === changed?.[0] ? changed[1] : -1));
  const text = lines.join('');
  const plain = Buffer.from(random() < 0.3 ? text.trimEnd() : text);
  const { headers, code } = oneOf(random, kCodings);
  return { plain, bytes: code(plain), headers };
}
