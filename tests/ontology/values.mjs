// Values that several domains draw: names, days, amounts. Everything follows from the `random` of
// random.mjs that is handed in; nothing reads a clock or a locale.
import { below, oneOf } from '../e2e/random.mjs';

const kFirstNames = ['Ada', 'Bruno', 'Carla', 'Dario', 'Elif', 'Farid', 'Greta', 'Hugo', 'Ines',
  'Jonas', 'Kaja', 'Liam', 'Mona', 'Nils', 'Olga', 'Pavel', 'Rosa', 'Sami', 'Tove', 'Viktor'];
const kLastNames = ['Almeida', 'Berg', 'Costa', 'Dahl', 'Egger', 'Fontaine', 'Graf', 'Horvat',
  'Ivers', 'Jansen', 'Keller', 'Lund', 'Moreau', 'Novak', 'Olsen', 'Petit', 'Rossi', 'Silva',
  'Toth', 'Vermeer'];
export const kCities = ['Oslo', 'Lyon', 'Porto', 'Gdansk', 'Turin', 'Bergen', 'Ghent', 'Graz',
  'Malmo', 'Bilbao', 'Leeds', 'Basel'];
const kSentences = ['called back twice', 'see the mail of Monday', 'agreed with the manager',
  'came in late', 'asked for a copy', 'needs a second look', 'done by phone', 'left at the door',
  'was not in the list', 'to be checked again'];

export const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));
export const chance = (random, share) => random() < share;
export const between = (random, low, high) => low + below(random, high - low + 1);
export const padded = (number, width) => String(number).padStart(width, '0');

/// `count` people's names, each once; at most 400.
export function people(random, count) {
  const start = below(random, 400);
  return many(count, (n) => {
    const at = (start + n * 21) % 400;  // 21 and 400 share no factor: no name comes twice
    return `${kFirstNames[at % 20]} ${kLastNames[Math.floor(at / 20)]}`;
  });
}

/// `count` companies' names, each once; at most 72.
export function companies(random, count) {
  const kinds = ['Foods', 'Works', 'Freight', 'Tools', 'Glass', 'Paper'];
  const start = below(random, 72);
  return many(count, (n) => {
    const at = (start + n * 5) % 72;
    return `${kCities[at % 12]} ${kinds[Math.floor(at / 12)]}`;
  });
}

/// One to four short sentences: free text that hardly comes twice.
export const freeText = (random) => many(between(random, 2, 4), () => oneOf(random, kSentences))
    .join(', ');

/// An amount of money with its two decimals, in [low, high].
export const money = (random, low, high) => (between(random, low * 100, high * 100) / 100)
    .toFixed(2);

/// A measured number as instruments print it: as many digits as it has, none padded.
export const measured = (random, low, high) => String(
    Number((low + random() * (high - low)).toFixed(5)));

const kDayMs = 86_400_000;
const kStartMs = Date.UTC(2026, 0, 1);

/// The day `offset` days after 2026-01-01, as YYYY-MM-DD.
export const day = (offset) => new Date(kStartMs + offset * kDayMs).toISOString().slice(0, 10);

/// The second `seconds` after 2026-01-01: milliseconds since 1970, YYYY-MM-DD HH:MM:SS, and the
/// instant in UTC.
export const epochMs = (seconds) => kStartMs + seconds * 1000;
export const instant = (seconds) => `${new Date(epochMs(seconds)).toISOString().slice(0, 19)}Z`;
export const localTime = (seconds) => instant(seconds).slice(0, 19).replace('T', ' ');

/// The month `offset` months after 2026-01, as YYYY-MM.
export const month = (offset) =>
  `${2026 + Math.floor(offset / 12)}-${padded((offset % 12) + 1, 2)}`;

export const hex = (random, digits) => many(digits, () => below(random, 16).toString(16)).join('');
