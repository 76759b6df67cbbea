// Ontology applied to real data (real_data.mjs): each model is the one that was read and found
// right, or right enough, and is kept in golden/ontology; docs/ONTOLOGY.md says what a person would
// model otherwise. After a change of the rules, STRATA_RENEW_GOLDEN=1 writes them anew, to be read.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { applied, serve } from '../ontology/apply.mjs';
import { employees, flights, movies, payroll, superstore, weather } from './real_data.mjs';
import { Postgres, servicesMissing } from './services.mjs';

const kRenew = process.env.STRATA_RENEW_GOLDEN === '1';
const goldenOf = (name) => fileURLToPath(new URL(`golden/ontology/${name}.json`, import.meta.url));

let postgres;
before(async () => {
  if (!servicesMissing) postgres = await Postgres.start();
});

/// A property in a line: what it is, how it adds up, and its columns if they are called otherwise.
function property({ name, column, more_columns: more = [], type, role, additivity, entity, unit,
                    rate_per_period: rate }) {
  const columns = [column, ...more].join(' | ');
  return [`${type} ${role}`, additivity, entity && `of ${entity}`, rate && 'per period',
          unit && `in ${unit}`, columns !== name && `from ${columns}`].filter(Boolean).join(', ');
}

/// A model as a person reads it, without the ids.
const readable = ({ object_types: types, links }) => ({
  types: Object.fromEntries(types.map(({ name, kind, view, key, properties }) => [name, {
    kind,
    view,
    key,
    properties: Object.fromEntries(properties.map((one) => [one.name, property(one)])),
  }])),
  links: links.map(({ name, from, to, column, status }) => (
    `${from} -> ${to} as ${name} by ${column}, ${status}`)),
});

/// Throws with the lines that differ.
function compare(name, model) {
  const { status, stdout, stderr } = spawnSync('diff', ['-u', goldenOf(name), '-'], {
    input: model, encoding: 'utf8',
  });
  assert.ok(status === 0, `the model of ${name} is another:\n${stdout}${stderr}\n` +
      'If it is a better one, write it with STRATA_RENEW_GOLDEN=1 and read the difference.');
}

for (const [name, read, count] of [
  ['weather', weather, 2922],
  ['flights', flights, 20_000],
  ['movies', movies, 3201],
  ['superstore', superstore, 9994],
  ['employees', employees, 1000],
  ['payroll', payroll, 9488],
]) {
  test(`the model of ${name}`, { skip: servicesMissing }, async (t) => {
    const rows = read();
    assert.equal(rows.length, count);
    const server = await serve(postgres, name);
    const model = `${JSON.stringify(readable(await applied(server, name, rows)), null, 1)}\n`;
    await server.stop();
    if (!kRenew) return compare(name, model);
    mkdirSync(dirname(goldenOf(name)), { recursive: true });
    writeFileSync(goldenOf(name), model);
    return t.diagnostic(`${goldenOf(name)} was written, and nothing was compared`);
  });
}
