// What happens to clean rows on their way into a stream. Every share is a count of cells, rounded
// down, so that a limit ("below 2 %") holds in the smallest stream too.
import { below, oneOf, shuffled } from '../e2e/random.mjs';

const kTypoShareMax = 0.015;
const kBadNumberShare = 0.012;
const kNullShareMax = 0.04;
const kSparseShare = 0.5;
const kBadNumbers = ['n/a', '12,5', 'unknown'];
/// What stands for no value: a cell that is left out, JSON's null, and what people type.
const kNullTokens = [undefined, null, '', 'N/A', '-'];
const kNumbers = ['BIGINT', 'DECIMAL', 'DOUBLE'];
const kMonths = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov',
  'Dec'];

const parts = (text) => text.slice(0, 10).split('-');
const dotted = (text) => parts(text).reverse().join('.');
const us = ([y, m, d]) => `${m}/${d}/${y}`;
const european = ([y, m, d]) => `${d}/${m}/${y}`;
/// One of two ways to write a value, the same for equal values: what belongs to an entity is
/// spelled as it was typed once.
const second = (text) => [...text].reduce((sum, digit) => sum + digit.charCodeAt(0), 0) % 2 === 1;

/// How a day, a month or an instant may be written instead. All but `ambiguous` can be read without
/// doubt once the whole column is seen.
const kSpellings = {
  slashed: (text) => parts(text).join('/'),
  dotted,
  us: (text) => us(parts(text)),
  mixed: (text) => (second(text) ? dotted(text) : text),
  ambiguous: (text) => (second(text) ? us : european)(parts(text)),
  month_slash: (text) => text.split('-').reverse().join('/'),
  month_name: (text) => {
    const [y, m, d] = parts(text);
    return [...(d ? [Number(d)] : []), kMonths[m - 1], y].join(' ');
  },
  iso_local: (text) => text.replace(' ', 'T'),
  dotted_time: (text) => `${dotted(text)} ${text.slice(11)}`,
  offsets: (text) => (second(text) ? text : `${text.slice(0, -1)}+00:00`),
};

function typo(random, text) {
  const at = below(random, text.length - 1);
  const [before, one, two, after] = [text.slice(0, at), text[at], text[at + 1], text.slice(at + 2)];
  return oneOf(random, [before + two + one + after, before + one + one + two + after,
    before + two + after, before + one + after]);
}

/// `count` of the rows that have a cell in `column`, each once.
const someWith = (random, rows, column, count) => shuffled(
    random, rows.filter((row) => row[column] !== undefined)).slice(0, count);

function addTypos(random, rows, { column, role }) {
  if (role !== 'label' && role !== 'category') return;
  const count = Math.floor(rows.length * kTypoShareMax);
  for (const row of someWith(random, rows, column, count)) {
    if (row[column].length > 3) row[column] = typo(random, row[column]);
  }
}

function addBadNumbers(random, rows, { column, type, role }) {
  if (role !== 'measure' || !kNumbers.includes(type)) return;
  const count = Math.floor(rows.length * kBadNumberShare);
  for (const row of someWith(random, rows, column, count)) row[column] = oneOf(random, kBadNumbers);
}

function addNulls(random, rows, { column, role }) {
  if (['key', 'constant', 'ordinal'].includes(role)) return;
  const there = rows.filter((row) => row[column] !== undefined).length;
  if (there < rows.length * kSparseShare) return;
  const count = Math.floor(rows.length * kNullShareMax * random());
  for (const row of someWith(random, rows, column, count)) row[column] = oneOf(random, kNullTokens);
}

/// Half of the numbers and of the booleans as JSON's own, where the text reads back as it was
/// meant: no name that only looks like a number loses its zeros.
function unquote(random, rows, { column, type, role }) {
  const number = kNumbers.includes(type) || role === 'key' || role === 'flag';
  for (const row of rows) {
    const text = row[column];
    if (typeof text !== 'string' || random() < 0.5) continue;
    if (type === 'BOOLEAN' && (text === 'true' || text === 'false')) row[column] = text === 'true';
    else if (number && /^-?(0|[1-9]\d{0,14})(\.\d+)?$/.test(text)) row[column] = Number(text);
  }
}

const spell = (rows, { column, spelling }) => {
  for (const row of spelling ? rows : []) row[column] &&= kSpellings[spelling](row[column]);
};

/// Clean rows as a stream of noise level 0 to 3 holds them, their members in `columns`' order, or
/// at level 3 in another and under the columns' other names. `rows` are left as they are.
export function noisy(random, level, rows, columns) {
  const copies = rows.map((row) => ({ ...row }));
  for (const column of columns) {
    if (level >= 3) spell(copies, column);
    if (level >= 2) addTypos(random, copies, column);
    if (level >= 2) addBadNumbers(random, copies, column);
    if (level >= 1) addNulls(random, copies, column);
    if (level >= 3) unquote(random, copies, column);
  }
  const order = level >= 3 ? shuffled(random, columns) : columns;
  return copies.map((row) => Object.fromEntries(
      order.map(({ column, renamed }) => [level >= 3 ? renamed : column, row[column]])));
}
