// Every row of tests/cases/parser.jsonl over a socket: status, lines, columns, reasons, and for a
// 200 the rows as a query shows them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { groupByColumns } from './grouping.mjs';
import { repository, startWith } from './harness.mjs';
import { batchFiles } from './independent.mjs';

const kCases = readFileSync(join(repository, 'tests/cases/parser.jsonl'), 'utf8')
                   .trimEnd().split('\n').map((line) => JSON.parse(line));
const kAccepted = kCases.filter(({ status }) => status === 200);
const kRefused = kCases.filter(({ status }) => status !== 200);

const bodyOf = ({ body, body_base64: base64 }) =>
  (body === undefined ? Buffer.from(base64, 'base64') : Buffer.from(body));

/// Lists of cases that go to one stream each, with what its receiver registers.
function streams() {
  const byRegistered = new Map();
  for (const one of kCases) {
    const key = JSON.stringify(one.registered ?? null);
    if (!byRegistered.has(key)) byRegistered.set(key, []);
    byRegistered.get(key).push(one);
  }
  return [...byRegistered].flatMap(([key, cases]) => {
    const groups = groupByColumns(cases, ({ columns }) => columns ?? []);
    return groups.map((group) => ({ columns: JSON.parse(key), cases: group }));
  });
}

const failures = [];
function expectEqual(found, expected, name) {
  try {
    assert.deepEqual(found, expected);
  } catch (error) {
    failures.push(`${name}: ${error.message}`);
  }
}

function expectRefused(answer, one) {
  expectEqual(answer.status, 400, `${one.name}: status: ${answer.text}`);
  const { code, detail, errors, error_count: count } = answer.json;
  expectEqual({ code, errors, count },
              { code: 'bad_batch', errors: one.errors, count: one.error_count }, one.name);
  const told = [one.errors[0].reason, one.advice ?? ''].every((text) => detail.includes(text));
  expectEqual(told, true, `${one.name}: its detail tells reason and advice: ${detail}`);
}

const inOrder = (rows) => rows.map((row) => JSON.stringify(row)).sort();
const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

/// The rows of each batch of a stream, by id; a column the batch does not have is NULL in them.
async function rowsByBatch(server, stream) {
  const { json } = await server.query(
      'demo', `SELECT * EXCLUDE (filename) FROM raw_extracted.${quoted(`stream_${stream}`)}`);
  const names = json.columns.map(({ name }) => name);
  const byBatch = new Map();
  for (const cells of json.rows) {
    const row = new Map(names.map((name, index) => [name, cells[index]]));
    const id = row.get('_batch_id');
    if (!byBatch.has(id)) byBatch.set(id, []);
    byBatch.get(id).push(row);
  }
  return byBatch;
}

async function sendGroup(server, stream, cases) {
  const ids = new Map(cases.map((one, index) => [one, `case-${index}`]));
  await Promise.all(cases.map(async (one) => {
    const answer = await server.post('demo', stream, bodyOf(one), { id: ids.get(one) });
    if (one.status !== 200) {
      expectRefused(answer, one);
      return;
    }
    expectEqual(answer.status, 200, `${one.name}: status: ${answer.text}`);
    const { rows, columns } = answer.json;
    expectEqual({ rows, columns }, { rows: one.rows.length, columns: one.columns.length },
                one.name);
  }));
  const accepted = cases.filter(({ status }) => status === 200);
  if (accepted.length === 0) return;
  const seen = await rowsByBatch(server, stream);
  for (const one of accepted) {
    const rows = seen.get(ids.get(one)) ?? [];
    const cells = rows.map((row) => one.columns.map((name) => row.get(name)));
    expectEqual(inOrder(cells), inOrder(one.rows), `${one.name}: rows`);
  }
  expectEqual([...seen.keys()].sort(), accepted.map((one) => ids.get(one)).sort(),
              `${stream}: nothing but what was accepted`);
}

test(`${kCases.length} bodies over a socket`, async () => {
  assert.ok(kAccepted.length >= 50 && kRefused.length >= 150, 'the table is there');
  const server = await startWith('demo', []);
  for (const [number, { columns, cases }] of streams().entries()) {
    const stream = `table_${number}`;
    await server.createReceiver('demo', stream, columns === null ? {} : { columns });
    await sendGroup(server, stream, cases);
    const accepted = cases.filter(({ status }) => status === 200).length;
    const refused = cases.length - accepted;
    const { files, rejected } = await server.receiver('demo', stream);
    expectEqual({ files, rejected }, { files: accepted, rejected: refused }, stream);
    expectEqual(batchFiles(server.streamFolder('demo', stream)).length, accepted, stream);
  }
  assert.equal(failures.length, 0, `${failures.length} failures:\n${failures.join('\n\n')}`);
});
