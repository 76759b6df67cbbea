// Statements made at random: whatever is accepted reads views of this knowledgebase and nothing
// else. What it reads is told by another DuckDB's plan, over tables of the views' names, before
// anything is optimised away.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { count } from '../e2e/given.mjs';
import { repository } from '../e2e/harness.mjs';
import { randomFrom } from '../e2e/random.mjs';
import { kKb, kSecret, linesOf, startKnowledgebase, withPlaces } from './knowledgebase.mjs';
import { Statements } from './statements.mjs';

const { DuckDBInstance } = createRequire(join(repository, 'deps/'))('@duckdb/node-api');

const kCount = count('STRATA_FUZZ_STATEMENTS', 1500);
const kSeed = count('STRATA_FUZZ_SEED', 20261130);
const kAtOnce = 3;
const kTimeoutMilliseconds = 400;

/// What gets a statement as far as being run, or is a refusal.
const kAccepted = new Set(['ok', 'timeout', 'out_of_memory']);
const kRefused = new Set(['sql_error', 'sql_refused', 'unknown_table', 'busy', 'bad_request']);

/// Leaves of a plan that read nothing, or what the statement itself holds.
const kHarmless = new Set(['DUMMY_SCAN', 'COLUMN_DATA_SCAN', 'EMPTY_RESULT', 'EXPRESSION_GET',
                           'CTE_SCAN', 'CTE_REF', 'REC_CTE_SCAN', 'DELIM_GET', 'CHUNK_GET',
                           'UNNEST', 'RANGE', 'GENERATE_SERIES', 'SHOW']);
const kTables = ['weather', 'orders', 'people'].map((name) => `raw_extracted.stream_${name}`);

let server;
let planner;
const reads = new Set([...kTables.map((name) => `knowledgebase.${name}`),
                       '"temp".main._strata_manifest']);

before(async () => {
  server = await startKnowledgebase();
  planner = await (await DuckDBInstance.create(':memory:')).connect();
  await planner.run("ATTACH ':memory:' AS knowledgebase; USE knowledgebase; " +
                    'CREATE SCHEMA raw_extracted');
  for (const table of kTables) {
    const { json } = await server.query(kKb, `FROM ${table} LIMIT 0`);
    const columns = json.columns.map(({ name, type }) => `"${name}" ${type}`).join();
    await planner.run(`CREATE TABLE ${table} (${columns})`);
  }
  await planner.run('CREATE TEMP TABLE _strata_manifest ("table" VARCHAR, source VARCHAR, ' +
                    '"rows" BIGINT, state VARCHAR)');
  await planner.run("SET explain_output = 'all'");
  await planner.run('PRAGMA disable_optimizer');  // it would run what is constant
  // What is run spells 1e3 as a cast, which may stand in ORDER BY.
  await planner.run('SET order_by_non_integer_literal = true');
});

const leavesOf = (node) => node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);

/// What the plan of `sql` reads that no statement here may, or why there is no plan.
async function forbiddenReads(sql) {
  const [, rest] = /^(?:[\s;]|--[^\n]*\n|\/\*[^]*?\*\/)*(?:explain\b)?([^]*)$/i.exec(sql);
  if (/^\s*(show|describe\s*;?\s*$)/i.test(rest)) return [];
  // The plan of a DESCRIBE is its answer, and no longer shows what it is about.
  const shown = rest.replace(/\bdescribe\b/gi, 'SUMMARIZE');
  const explain = (statement) => planner.runAndReadAll(`EXPLAIN (FORMAT json) ${statement}`);
  const reader = await explain(shown).catch(() => explain(rest));
  const [, plan] = reader.getRows().find(([key]) => key === 'logical_plan');
  return JSON.parse(plan).flatMap(leavesOf).filter(({ name, extra_info: info }) => {
    if (name.trim() === 'SEQ_SCAN') return !reads.has(info.Table);
    return !kHarmless.has(name.trim());
  });
}

test(`whatever is accepted reads this knowledgebase's views (seed ${kSeed})`, async (t) => {
  const corpus = ['benign.jsonl', 'hostile.jsonl'].flatMap(linesOf)
      .filter(({ kind }) => kind !== 'bomb').map(({ sql }) => sql);
  const statements = new Statements(randomFrom(kSeed), corpus);
  const seen = {};
  const broken = [];
  const otherwise = [];
  const expect = (holds, what, sql) => { if (!holds) broken.push(`${what}: ${sql}`); };
  const one = async () => {
    const sql = withPlaces(statements.next(), server);
    const answer = await server.query(kKb, sql, { timeout_ms: kTimeoutMilliseconds, max_rows: 50 });
    const { code = 'ok', detail = '' } = JSON.parse(answer.text);
    seen[code] = (seen[code] ?? 0) + 1;
    expect(kAccepted.has(code) || kRefused.has(code), `answered ${answer.text}`, sql);
    expect(!answer.text.includes(kSecret), 'another knowledgebase\'s rows', sql);
    expect(!detail.includes('the engine would read'), detail, sql);
    if (detail.includes('reads otherwise')) otherwise.push(sql);
    // What ran out of time may have done so before anybody saw that it cannot be planned.
    const forbidden = kAccepted.has(code) ? await forbiddenReads(sql).catch(
        ({ message }) => code === 'ok' ? [`no plan: ${message}`] : []) : [];
    expect(forbidden.length === 0, JSON.stringify(forbidden), sql);
  };
  for (let made = 0; made < kCount; made += kAtOnce) {
    await Promise.all(Array.from({ length: kAtOnce }, one));
  }
  assert.deepEqual(broken, []);
  // What DuckDB writes back as something else is refused (docs/QUERIES.md), and is as odd as
  // `IN ((SELECT 1), )`; a plain one belongs in benign.jsonl.
  assert.ok(otherwise.length <= kCount / 5000, otherwise.join('\n'));
  // Both kinds have to be many, or nothing was tried.
  assert.ok(seen.ok > kCount / 20, JSON.stringify(seen));
  assert.ok(seen.sql_refused > kCount / 20, JSON.stringify(seen));
  t.diagnostic(JSON.stringify(seen));
});
