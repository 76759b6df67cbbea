// node apply.mjs FOLDER [open|hidden]: lands every stream in a server of its own root, applies
// ontology to it, and writes the model that the server answers as FOLDER/STREAM.json for judge.mjs.
// Needs PostgreSQL's programs; STRATA_PROGRAM names the server.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { start } from '../e2e/harness.mjs';
import { Postgres, servicesMissing } from '../e2e/services.mjs';
import { streams } from './generate.mjs';

export const kKb = 'demo';
export const kBase = `/knowledgebase/${kKb}/strata`;
const kBatchRows = 500;

const bare = (type) => type.replace(/\(.*/, '');

/// The answer of GET .../ontology as README.md's neutral form.
export function neutral({ object_types: types, links }, stream) {
  const columns = {};
  const own = types.filter((type) => type.stream === stream);
  const kept = own.map(({ name, kind, key, properties }) => {
    const keys = properties.find((property) => property.name === key);
    const others = properties.filter((property) => property.name !== key);
    const inRole = (at) => others.filter(({ more_columns: more }) => more?.[at]).map(
        ({ more_columns: more, type, role }) => ({ column: more[at], type: bare(type), role }));
    return {
      name,
      kind,
      key: keys?.column ?? null,
      properties: others.map(({ column, type, role }) => ({ column, type: bare(type), role })),
      roles: (keys?.more_columns ?? []).map((column, at) => (
        { key: column, properties: inRole(at) })),
    };
  });
  for (const { properties } of own) {
    for (const { column, more_columns: more = [], type, role } of properties) {
      for (const name of [column, ...more].filter(Boolean)) {
        columns[name] = { type: bare(type), role };
      }
    }
  }
  return { types: kept, columns,
           links: links.filter((link) => link.stream === stream)
               .map(({ from, to, column }) => ({ from, to, column })) };
}

/// Batches {id, rows} of `size` rows.
export const inBatches = (rows, size) => Array.from(
    { length: Math.ceil(rows.length / size) },
    (_, at) => ({ id: `b${at}`, rows: rows.slice(at * size, (at + 1) * size) }));

/// Runs the job, which has to be done. Its result.
export async function apply(server, kb, stream) {
  const begun = await server.control(
      `/knowledgebase/${kb}/strata/receivers/${stream}/ontology`);
  const { state, reason, result } = await server.jobEnd(kb, begun);
  assert.equal(state, 'done', `${stream}: ${reason}`);
  return result;
}

/// Lands `batches` in their order and applies ontology to them. What the server answers then.
export async function appliedBatches(server, { kb, stream, batches }) {
  for (const { id, rows } of batches) await server.land(kb, stream, rows, id);
  await apply(server, kb, stream);
  return (await server.get(`/knowledgebase/${kb}/strata/ontology`)).json;
}

/// Lands `rows` in a new stream and applies ontology to them. What the server answers then.
export async function applied(server, stream, rows) {
  await server.createReceiver(kKb, stream);
  return appliedBatches(server, { kb: kKb, stream, batches: inBatches(rows, kBatchRows) });
}

/// A server on a root and a database of its own, ready for applied().
export async function serve(postgres, name) {
  const server = await start({ args: ['--postgres', postgres.database(name)] });
  await server.createKb(kKb, 'postgres');
  return server;
}

export const idOf = (name) => name.replaceAll('-', '_').toLowerCase();

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, half] = process.argv.slice(2);
  test('models of all streams', { skip: servicesMissing }, async () => {
    assert.ok(folder, 'node apply.mjs FOLDER [open|hidden]');
    mkdirSync(folder, { recursive: true });
    const postgres = await Postgres.start();
    for (const [number, { name, rows, open }] of streams().entries()) {
      if (half !== undefined && (half === 'open') !== open) continue;
      const server = await serve(postgres, `s${number}`);
      const model = await applied(server, idOf(name), rows());
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(neutral(model, idOf(name))));
      await server.stop();
    }
  });
}
