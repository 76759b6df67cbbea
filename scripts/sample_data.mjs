// node scripts/sample_data.mjs OUT: writes the sample data of `make run` into the folder OUT, from
// the npm package vega-datasets: seattle-weather.csv as it is, movies.json (one JSON array) as
// NDJSON. Every value keeps its source text: no number passes through a double.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const kSource = fileURLToPath(
    new URL('../deps/node_modules/vega-datasets/data/', import.meta.url));

/// The elements of a JSON array as their source text, one line each: whitespace between tokens is
/// dropped, strings stay untouched. `json` must be valid JSON.
export function arrayLines(json) {
  const lines = [];
  let line = '';
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:\\.|[^"\\])*"|[[\]{}:,]|[^\s"[\]{}:,]+/g)) {
    if (']}'.includes(token)) --depth;
    if (depth === 0 || (depth === 1 && token === ',')) {
      if (line) lines.push(line);
      line = '';
    } else {
      line += token;
    }
    if ('[{'.includes(token)) ++depth;
  }
  return lines;
}

export function toNdjson(json) {
  const lines = arrayLines(json);
  if (!isDeepStrictEqual(lines.map((line) => JSON.parse(line)), JSON.parse(json))) {
    throw new Error('the lines do not hold what the array held');
  }
  return lines.map((line) => `${line}\n`).join('');
}

export function writeSamples(out) {
  mkdirSync(out, { recursive: true });
  copyFileSync(join(kSource, 'seattle-weather.csv'), join(out, 'seattle-weather.csv'));
  const movies = readFileSync(join(kSource, 'movies.json'), 'utf8');
  writeFileSync(join(out, 'movies.ndjson'), toNdjson(movies));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeSamples(process.argv[2]);
