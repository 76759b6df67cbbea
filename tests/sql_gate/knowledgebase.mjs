// A server with the knowledgebase that the statements of the corpus are about, and another one
// whose rows nobody may see there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startWith } from '../e2e/harness.mjs';

export const kKb = 'demo';
/// In every cell of the other knowledgebase.
export const kSecret = 'theirs-alone';

const kWeather = [
  ['2026-01-01', 'Oslo', '-3.5', '4', 'snow'], ['2026-01-01', 'Rome', '12.5', '2', null],
  ['2026-01-02', 'Oslo', null, '6', ''], ['2026-01-02', 'Rome', '14', '3', 'sun'],
  ['2026-01-03', 'Paris', '7.5', '5', 'sunny spells'], ['2026-02-01', 'Rome', '21', '2', 'sun'],
];
const kOrders = [
  ['1', 'Ann', '10.50', '2026-01-01 10:00:00', '[{"sku":"a","qty":2}]'],
  ['2', 'Oslo', '20', '2026-01-02 11:30:00', '[{"sku":"b","qty":1},{"sku":"c","qty":3}]'],
  ['3', 'Rome', '5.25', '2026-01-02 12:00:00', '[{"sku":"a","qty":1}]'],
];
const kPeople = [['Ann', null, '2020-01-01'], ['Bob', 'Ann', '2021-01-01'],
                 ['Cy', 'Bob', '2022-01-01'], ['Dee', 'Ann', '2023-05-05']];
const kStreams = {
  weather: [['day', 'city', 'temp', 'wind', 'note'], kWeather],
  orders: [['order_id', 'customer', 'amount', 'ordered_at', 'items'], kOrders],
  people: [['name', 'boss', 'hired'], kPeople],
};

const records = ([names, rows]) => rows.map((row) => Object.fromEntries(
    names.map((name, index) => [name, row[index]])));

export async function startKnowledgebase(options = {}) {
  const server = await startWith(kKb, Object.keys(kStreams), options);
  for (const [stream, table] of Object.entries(kStreams)) {
    const rows = records(table);
    const half = Math.ceil(rows.length / 2);
    await server.land(kKb, stream, rows.slice(0, half), `${stream[0]}-1`);
    await server.land(kKb, stream, rows.slice(half), `${stream[0]}-2`);
  }
  await server.createKb('other');
  await server.createReceiver('other', 'secret');
  await server.land('other', 'secret', [{ a: kSecret }], 'secret-1');
  return server;
}

/// The statements of `benign.jsonl` or `hostile.jsonl`.
export const linesOf = (file) => readFileSync(new URL(file, import.meta.url), 'utf8').trim()
    .split('\n').map((line) => JSON.parse(line));

/// The paths that statements of the corpus reach for.
export const placesOf = (server) => ({
  own: server.streamFolder(kKb, 'weather'),
  theirs: join(server.streamFolder('other', 'secret'), 'data/secret-1.parquet'),
  generation: join(server.kbFolder('other'), 'knowledgebase.duckdb'),
});
/// `sql` with them in their places.
export const withPlaces = (sql, server) => Object.entries(placesOf(server)).reduce(
    (all, [name, path]) => all.replaceAll(`{${name}}`, path), sql);
