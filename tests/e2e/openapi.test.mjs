// /openapi.json is valid OpenAPI 3.1, describes every route and nothing more, and what the server
// answers fits it. /limits names every limit of the program.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { before, test } from 'node:test';
import { ndjson, repository, startWith } from './harness.mjs';

const kKb = 'demo';
const kMethods = ['get', 'head', 'post', 'put', 'patch', 'delete'];

const require = createRequire(join(repository, 'deps/package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Validator } = await load('@seriousme/openapi-schema-validator');
const { default: Ajv } = await load('ajv/dist/2020.js');

let server;
let document;
before(async () => {
  server = await startWith(kKb, ['s']);
  await server.land(kKb, 's', [{ a: 1 }], 'b1');
  document = (await server.get('/openapi.json')).json;
});

test('the document is valid', async () => {
  assert.equal(document.openapi, '3.1.0');
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  const ids = Object.values(document.paths).flatMap(Object.values).map((one) => one.operationId);
  assert.equal(new Set(ids).size, ids.length);
});

test('each path takes the methods the document names and refuses the others', async () => {
  assert.ok(Object.keys(document.paths).length >= 15);
  for (const [pattern, operations] of Object.entries(document.paths)) {
    const parameters = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const operation of Object.values(operations)) {
      const named = (operation.parameters ?? []).filter((one) => one.in === 'path');
      assert.deepEqual(named.map(({ name }) => name), parameters, operation.operationId);
    }
    // A method nobody has is told which there are.
    const answer = await server.request('PUT', pattern.replaceAll(/\{\w+\}/g, 'x'));
    assert.equal(answer.status, 405, pattern);
    const allowed = answer.headers.allow.split(', ').map((method) => method.toLowerCase());
    const routed = kMethods.filter((method) => allowed.includes(method) && method !== 'head');
    assert.deepEqual(routed, kMethods.filter((method) => method in operations), pattern);
  }
});

test('a path that is not in the document is no route', async () => {
  for (const path of ['/nothing', '/knowledgebase/demo/strata', '/limits/x']) {
    const answer = await server.request('PUT', path);
    assert.equal(answer.status, 404, path);
  }
});

test('what the server answers fits what the document says', async () => {
  const ajv = new Ajv({ strict: false });
  ajv.addSchema(document, 'openapi');
  const pointer = (...parts) => 'openapi#' + parts.map((part) =>
      `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
  const check = (pattern, method, status, media, body) => {
    const fits = ajv.compile({ $ref: pointer('paths', pattern, method, 'responses', status,
                                             'content', media, 'schema') });
    assert.ok(fits(body), `${method} ${pattern}: ${JSON.stringify(fits.errors)}`);
  };
  const values = { kb: kKb, stream: 's', batch: 'b1' };
  const at = (pattern) => pattern.replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
  let checked = 0;
  for (const [pattern, { get }] of Object.entries(document.paths)) {
    const content = get?.responses['200']?.content ?? {};
    if (!('application/json' in content) || Object.keys(content).length > 1) continue;
    const answer = await server.get(at(pattern));
    if (answer.status !== 200) continue;
    check(pattern, 'get', '200', 'application/json', answer.json);
    ++checked;
  }
  assert.ok(checked >= 10, `${checked} answers were looked at`);

  const kIngest = '/knowledgebase/{kb}/strata/ingest/{stream}';
  const landed = await server.post(kKb, 's', ndjson([{ a: 2 }]), { id: 'b2' });
  check(kIngest, 'post', '200', 'application/json', landed.json);
  const refused = await server.post(kKb, 's', 'no json', { id: 'b3' });
  check(kIngest, 'post', '400', 'application/problem+json', refused.json);
  const rows = await server.query(kKb, 'SELECT * FROM raw_extracted.stream_s');
  check('/knowledgebase/{kb}/strata/query', 'post', '200', 'application/json', rows.json);
  const kReceiver = '/knowledgebase/{kb}/strata/receivers/{stream}';
  const gone = await server.request('DELETE', at(kReceiver));
  check(kReceiver, 'delete', '200', 'application/json', gone.json);
  const problem = ajv.compile({ $ref: pointer('components', 'schemas', 'Problem') });
  assert.ok(problem((await server.get('/knowledgebase/none')).json));
});

test('/limits has every constant of base/limits.h by its name, in its unit', async () => {
  const kNotMet = new Set(['stop_deadline_ms']);  // no client sees it
  const header = readFileSync(join(repository, 'src/base/limits.h'), 'utf8');
  const constants = [...header.matchAll(/^inline constexpr (\S+) k(\w+)\b/gm)];
  assert.ok(constants.length > 20);
  const names = constants.map(([, type, name]) => {
    const snake = name.replaceAll(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
    return type.includes('chrono') ? `${snake}_ms` : snake;
  });
  const { json } = await server.get('/limits');
  assert.deepEqual(Object.keys(json).sort(), names.filter((name) => !kNotMet.has(name)).sort());
  assert.equal(json.body_bytes_default, 1_048_576);
  assert.equal(json.columns_per_stream_max, 1024);
  assert.equal(json.query_timeout_ceiling_ms, 60_000);
  assert.equal(json.header_deadline_ms, 10_000);
});
