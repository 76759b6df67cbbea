// The sample data of `make run` is what the README says it is.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { arrayLines, toNdjson, writeSamples } from '../../scripts/sample_data.mjs';

const out = mkdtempSync(join(tmpdir(), 'strata-sample-'));
after(() => rmSync(out, { recursive: true }));
writeSamples(out);
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const lines = (name) => readFileSync(join(out, name), 'utf8').trimEnd().split('\n');

test('an array becomes its elements, each with its source text', () => {
  const json = '[ {"a" : 1.50,\r\n "b":[1, {"c":"], \\"x"}]},\n{ "a":12345678901234567890 } , {}]';
  assert.deepEqual(arrayLines(json), [
    '{"a":1.50,"b":[1,{"c":"], \\"x"}]}',
    '{"a":12345678901234567890}',
    '{}',
  ]);
  assert.equal(toNdjson('[]'), '');
});

test('seattle-weather.csv has the rows and columns the README names', () => {
  const [header, ...rows] = lines('seattle-weather.csv');
  assert.equal(header, 'date,precipitation,temp_max,temp_min,wind,weather');
  assert.equal(rows.length, 1461);
  assert.match(readme, /seattle-weather\.csv.*1,461 rows/);
});

test('movies.ndjson has the rows the README names, and is as dirty as it says', () => {
  const rows = lines('movies.ndjson').map((line) => JSON.parse(line));
  assert.equal(rows.length, 3201);
  assert.equal(rows.filter((row) => typeof row.Title === 'number').length, 9);
  assert.equal(rows.filter((row) => row['Running Time min'] === null).length, 1992);
  assert.equal(new Set(rows.flatMap(Object.keys)).size, 16);
  assert.match(readme, /movies\.ndjson.*3,201 rows/);
  assert.match(readme, /nine titles are numbers/);
});
