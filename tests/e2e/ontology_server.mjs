// Servers whose knowledgebase `demo` is kept in PostgreSQL, for tests of applying ontology.
import assert from 'node:assert/strict';
import { before } from 'node:test';
import { start } from './harness.mjs';
import { Postgres, servicesMissing as skip } from './services.mjs';

export { skip };
export const kKb = 'demo';
export const kBase = `/knowledgebase/${kKb}/strata`;
export const kSix =
    ['department', 'employee', 'employment_type', 'location', 'pay_fact', 'pay_grade'];

export let postgres;
before(async () => {
  if (!skip) postgres = await Postgres.start();
});

let databases = 0;
/// On a database of its own, which holds `dump`, or on that of `url`.
export async function serve({
  data, dump, url = postgres.database(`model${databases += 1}`, dump), env,
} = {}) {
  const server = await start({ data, args: ['--postgres', url],
                               env: { STRATA_JOB_LEASE_S: '1', ...env } });
  return Object.assign(server, { postgresUrl: url });
}
/// With `rows` in three batches.
export async function serveStream(stream, rows, options) {
  const server = await serve(options);
  await server.createKb(kKb, 'postgres');
  await server.createReceiver(kKb, stream);
  await send(server, stream, rows, 'b');
  return server;
}
export async function send(server, stream, rows, prefix) {
  for (let n = 0; n < 3; ++n) {
    await server.land(kKb, stream, rows.filter((_, at) => at % 3 === n), `${prefix}${n}`);
  }
}

export const post = (server, stream) => server.control(`${kBase}/receivers/${stream}/ontology`);
export async function apply(server, stream) {
  const done = await server.jobEnd(kKb, await post(server, stream));
  assert.equal(done.state, 'done', done.reason);
  return done.result;
}
export const ontology = async (server) => (await server.get(`${kBase}/ontology`)).json;
export const views = async (server) => (await server.rows(kKb, 'SHOW TABLES')).flat()
    .filter((name) => name.startsWith('ontology.')).map((name) => name.slice(9)).sort();
export const versions = async (server) => {
  const { versions: all } = (await server.get(`${kBase}/ontology/versions`)).json;
  return all.map(({ version, state }) => `${version} ${state}`);
};
