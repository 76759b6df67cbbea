// Statements made at random, from a seed: whole ones out of a grammar that knows what is allowed
// and what is not, and those of the corpus with a part put in another's place.
import { below, oneOf } from '../e2e/random.mjs';

const kViews = ['raw_extracted.stream_weather', 'raw_extracted.stream_orders',
                'knowledgebase.raw_extracted.stream_people', 'Raw_Extracted."STREAM_weather"',
                '_strata_manifest', 'main._strata_manifest'];
const kForbidden = [
  'sqlite_master', 'pg_views', 'duckdb_views', 'duckdb_databases', 'pragma_database_list',
  'pg_catalog.pg_class', 'information_schema.tables', 'system.main.duckdb_columns',
  'information_schema.views', 'duckdb_settings()', 'duckdb_views()', 'pragma_database_list()',
  "'{theirs}'", "'{own}/data/w-1.parquet'", "'/etc/passwd.csv'", '"x.csv"',
  "read_csv('/etc/passwd')", "read_text('{theirs}')", "glob('/etc/*')",
  "read_parquet('{own}/data/*.parquet')", "query('SELECT 1')", "query_table('stream_weather')",
  'raw_extracted.stream_secret', 'other.raw_extracted.stream_secret', 'memory.main.x',
  'test_all_types()', 'temp.main._strata_manifest', '(SHOW DATABASES)', '(SHOW TABLES)',
  'duckdb_functions()', 'recurring.a', "repeat('x', 3)",
];
/// Names a CTE may have: plain ones, and those of what it could hide.
const kNames = ['a', 'b', 'stream_weather', 'sqlite_master', 'pg_views', '"x.csv"', 'duckdb_views',
                '_strata_manifest', 'raw_extracted', '"a b"'];
const kFunctions = ['typeof', 'coalesce', 'list_value', 'hash', 'to_json', 'greatest', 'upper',
                    'count'];
const kForbiddenFunctions = ['current_setting', 'getvariable', 'nextval', 'pg_get_viewdef',
                             'write_log', 'json_serialize_plan', 'stats', 'nosuch'];
const kOperators = ['IS DISTINCT FROM', 'IS NOT DISTINCT FROM', '||', '=', 'AND'];

export class Statements {
  /// `random` answers numbers in [0, 1).
  constructor(random, corpus) {
    this.random = random;
    this.corpus = corpus;
    this.fragments = corpus.flatMap((sql) => sql.match(/\([^()]*\)|'[^']*'|\w+(?:\.\w+)*/g) ?? []);
  }

  pick(list) { return oneOf(this.random, list); }
  chance(share) { return this.random() < share; }

  next() { return this.chance(0.5) ? this.statement() : this.mutant(); }

  statement() {
    const query = this.query(3, []);
    if (this.chance(0.85)) return query;
    return this.pick([`EXPLAIN ${query}`, `DESCRIBE ${query}`, `SUMMARIZE ${query}`,
                      `${query};`, `/* x */ ${query} -- y`, `${query}; SELECT 1`,
                      `CREATE TABLE t AS ${query}`, `COPY (${query}) TO '/tmp/evil.csv'`]);
  }

  query(depth, scope) {
    const names = [...scope];
    let withList = '';
    if (depth > 0 && this.chance(0.35)) {
      const list = [];
      const recursive = this.chance(0.2);
      for (let count = 1 + below(this.random, 2); count > 0; --count) {
        const name = this.pick(kNames);
        if (list.some((other) => other.startsWith(`${name} `))) continue;
        const inner = recursive && this.chance(0.7)
            ? `SELECT 1 AS x UNION SELECT 2 FROM ${this.pick([name, this.table(0, names)])}`
            : this.query(depth - 1, this.chance(0.2) ? [...names, name] : names);
        list.push(`${name} AS ${this.pick(['', '', 'MATERIALIZED '])}(${inner})`);
        names.push(name);
      }
      withList = `WITH ${recursive ? 'RECURSIVE ' : ''}${list.join(', ')} `;
    }
    if (depth === 0 || this.chance(0.8)) return withList + this.select(depth, names);
    const operator = this.pick(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'UNION ALL BY NAME']);
    const sides = [depth, depth - 1].map((left) => `(${this.select(left, names, 'typeof')})`);
    return `${withList}${sides.join(` ${operator} `)}`;
  }

  /// One column, so that a query may stand where a value does; `made` is a call around it.
  select(depth, scope, made = '') {
    const all = made === '' && this.chance(0.15);
    const parts = [`SELECT ${all ? '*' : `${made}(${this.expression(depth, scope)}) AS x`}`];
    parts.push(`FROM ${this.table(depth, scope)}`);
    if (this.chance(0.1)) parts.push(`TABLESAMPLE ${this.pick(['50%', 'reservoir(2 ROWS)'])}`);
    if (this.chance(0.2)) parts.push(`, ${this.table(depth, scope)} x2`);
    if (this.chance(0.15)) parts.push(`CROSS JOIN ${this.table(depth, scope)} x3`);
    if (this.chance(0.3)) parts.push(`WHERE ${this.expression(depth, scope)} IS NOT NULL`);
    if (this.chance(0.1)) parts.push(`QUALIFY row_number() OVER (ORDER BY 1) = 1`);
    if (this.chance(0.2)) parts.push(`ORDER BY ${this.expression(depth, scope)}`);
    if (this.chance(0.2)) parts.push(this.pick(['LIMIT 3', `LIMIT (${this.query(0, scope)})`]));
    return parts.join(' ');
  }

  table(depth, scope) {
    if (this.chance(0.06)) return this.pick(kForbidden);
    if (scope.length > 0 && this.chance(0.4)) return this.pick(scope);
    if (this.chance(0.05)) return this.pick(kNames);
    if (depth > 0 && this.chance(0.25)) return `(${this.query(depth - 1, scope)})`;
    if (this.chance(0.1)) {
      return this.pick(['range(3)', 'generate_series(1, 2)', 'unnest([1, 2])', 'range(day)',
                        '(VALUES (1), (2))', 'range(10000000000)']);
    }
    const view = this.pick(kViews);
    return this.pick([view, view, view, `(DESCRIBE ${view})`, `(SUMMARIZE ${view})`]);
  }

  expression(depth, scope) {
    const roll = this.random();
    if (depth <= 0 || roll < 0.3) {
      return this.pick(['1', "'a'", 'NULL', '2.5', 'current_date', '1e3', "'{theirs}'", '[1, 2]',
                        "{'a': 1}", 'true', this.pick(['city', 'filename', 'x', 'COLUMNS(*)'])]);
    }
    const inner = () => this.expression(depth - 1, scope);
    if (roll < 0.4) return `(${inner()} ${this.pick(kOperators)} (${inner()}))`;
    if (roll < 0.55) return `${this.pick(kFunctions)}(${inner()})`;
    if (roll < 0.58) return `${this.pick(kForbiddenFunctions)}(${inner()})`;
    if (roll < 0.7) return `(SELECT min(x) FROM (${this.query(depth - 1, scope)}) t(x))`;
    if (roll < 0.75) return `EXISTS (${this.query(depth - 1, scope)})`;
    if (roll < 0.8) return `CASE WHEN ${inner()} IS NULL THEN 1 ELSE 2 END`;
    if (roll < 0.85) return `list_transform([1], lambda i: ${inner()})`;
    if (roll < 0.87) return `max(${inner()}) OVER (PARTITION BY ${inner()})`;
    if (roll < 0.95) return `TRY_CAST(${inner()} AS ${this.pick(['INT', 'VARCHAR', 'DATE[]'])})`;
    return `typeof(${inner()}) IN (${this.select(depth - 1, scope, 'typeof')})`;
  }

  /// A statement of the corpus with one to three of its parts changed for others'.
  mutant() {
    let sql = this.pick(this.corpus);
    for (let count = 1 + below(this.random, 3); count > 0; --count) {
      const parts = sql.match(/\s+|\w+(?:\.\w+)*|'[^']*'|"[^"]*"|[^\s\w]/g) ?? [sql];
      const at = below(this.random, parts.length);
      const change = this.random();
      if (change < 0.3) parts[at] = this.pick(this.fragments);
      else if (change < 0.5) parts[at] = this.table(1, []);
      else if (change < 0.6) parts.splice(at, 1);
      else if (change < 0.7) parts.splice(at, 0, this.pick(this.fragments), ' ');
      else if (change < 0.8) parts[at] = `(${this.query(1, [])})`;
      else if (change < 0.9) parts.splice(at, 0, this.pick(parts));
      else parts.push(...(this.pick(this.corpus).match(/\s+|\S+/g) ?? []).slice(-6));
      sql = parts.join('');
    }
    return sql;
  }
}
