// How every type of value is written in an answer: one row of the table a case, asked as JSON, as
// NDJSON and as CSV.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { startWith } from './harness.mjs';

let server;
before(async () => { server = await startWith('demo', ['weather']); });

// The type as the answer names it, the SQL, its JSON as it stands in the answer, and its CSV where
// that differs from the JSON without its quotes.
const kValues = [
  ['BOOLEAN', 'true', 'true'],
  ['TINYINT', '(-128)::TINYINT', '-128'],
  ['UTINYINT', '255::UTINYINT', '255'],
  ['SMALLINT', '(-32768)::SMALLINT', '-32768'],
  ['USMALLINT', '65535::USMALLINT', '65535'],
  ['INTEGER', '(-2147483648)::INTEGER', '-2147483648'],
  ['UINTEGER', '4294967295::UINTEGER', '4294967295'],
  // 2^53 is the last whole number that a double tells from its neighbours.
  ['BIGINT', '9007199254740992', '9007199254740992'],
  ['BIGINT', '9007199254740993', '"9007199254740993"'],
  ['BIGINT', '-9007199254740992', '-9007199254740992'],
  ['BIGINT', '-9007199254740993', '"-9007199254740993"'],
  ['BIGINT', '9223372036854775807', '"9223372036854775807"'],
  ['UBIGINT', '7::UBIGINT', '7'],
  ['UBIGINT', '18446744073709551615::UBIGINT', '"18446744073709551615"'],
  ['HUGEINT', '7::HUGEINT', '"7"'],
  ['HUGEINT', '(-170141183460469231731687303715884105728)::HUGEINT',
   '"-170141183460469231731687303715884105728"'],
  ['UHUGEINT', '340282366920938463463374607431768211455::UHUGEINT',
   '"340282366920938463463374607431768211455"'],
  ['BIGNUM', "'123456789012345678901234567890123456789012345678901'::BIGNUM",
   '"123456789012345678901234567890123456789012345678901"'],
  ['DECIMAL(4,2)', '1.50::DECIMAL(4,2)', '"1.50"'],
  ['DECIMAL(9,3)', '(-0.005)::DECIMAL(9,3)', '"-0.005"'],
  ['DECIMAL(38,0)', '(-99999999999999999999999999999999999999)::DECIMAL(38,0)',
   '"-99999999999999999999999999999999999999"'],
  ['DOUBLE', '0.1::DOUBLE', '0.1'],
  ['DOUBLE', "'-0'::DOUBLE", '-0'],
  ['DOUBLE', '1e300::DOUBLE', '1e+300'],
  ['DOUBLE', '0.1::DOUBLE + 0.2::DOUBLE', '0.30000000000000004'],
  ['DOUBLE', "'nan'::DOUBLE", '"NaN"'],
  ['DOUBLE', "'inf'::DOUBLE", '"Infinity"'],
  ['DOUBLE', "'-inf'::DOUBLE", '"-Infinity"'],
  ['FLOAT', '0.1::FLOAT', '0.1'],
  ['FLOAT', "'nan'::FLOAT", '"NaN"'],
  ['DATE', "DATE '2026-06-29'", '"2026-06-29"'],
  ['DATE', "DATE '0044-03-15 (BC)'", '"-000043-03-15"'],
  ['DATE', "'infinity'::DATE", '"infinity"'],
  ['TIME', "TIME '01:02:03.5'", '"01:02:03.5"'],
  ['TIME WITH TIME ZONE', "'12:00:00+02:30'::TIMETZ", '"12:00:00+02:30"'],
  ['TIMESTAMP', "TIMESTAMP '2026-06-29 01:02:03'", '"2026-06-29T01:02:03"'],
  ['TIMESTAMP', "TIMESTAMP '2026-06-29 01:02:03.000001'", '"2026-06-29T01:02:03.000001"'],
  ['TIMESTAMP_S', "'2026-06-29 01:02:03'::TIMESTAMP_S", '"2026-06-29T01:02:03"'],
  ['TIMESTAMP_MS', "'2026-06-29 01:02:03.004'::TIMESTAMP_MS", '"2026-06-29T01:02:03.004"'],
  ['TIMESTAMP_NS', "'2026-06-29 01:02:03.000000004'::TIMESTAMP_NS",
   '"2026-06-29T01:02:03.000000004"'],
  // In UTC, whatever zone it was written in.
  ['TIMESTAMP WITH TIME ZONE', "TIMESTAMPTZ '2026-06-29 01:02:03+02'", '"2026-06-28T23:02:03Z"'],
  ['TIMESTAMP WITH TIME ZONE', "TIMESTAMPTZ '2026-06-29 01:02:03'", '"2026-06-29T01:02:03Z"'],
  ['INTERVAL', "INTERVAL '1 year 2 months -3 days 04:05:06.7'",
   '"1 year 2 months -3 days 04:05:06.7"'],
  ['INTERVAL', "INTERVAL '0 days'", '"00:00:00"'],
  ['UUID', "'EEB8A5A2-6A5E-4B1E-8C0A-0123456789AB'::UUID",
   '"eeb8a5a2-6a5e-4b1e-8c0a-0123456789ab"'],
  ['BIT', "'10111'::BIT", '"10111"'],
  ['BLOB', "'\\x00\\xFFab'::BLOB", '"AP9hYg=="'],
  ['BLOB', "''::BLOB", '""', '""'],
  ["ENUM('x', 'y z', 'a,b')", "'y z'::ENUM('x', 'y z', 'a,b')", '"y z"'],
  ["ENUM('x', 'y z', 'a,b')", "'a,b'::ENUM('x', 'y z', 'a,b')", '"a,b"', '"a,b"'],
  ['VARCHAR', "''", '""', '""'],
  ['VARCHAR', "'Ünïcode 🦆'", '"Ünïcode 🦆"'],
  ['VARCHAR', "'a,b'", '"a,b"', '"a,b"'],
  ['VARCHAR', "'a\"b\\c' || chr(13) || chr(10) || chr(9) || chr(1)",
   '"a\\"b\\\\c\\r\\n\\t\\u0001"', '"a""b\\c\r\n\t\x01"'],
  ['VARCHAR', "'  kept '", '"  kept "'],
  ['JSON', "'{\"k\": 1}'::JSON", '"{\\"k\\": 1}"', '"{""k"": 1}"'],
  ['INTEGER', 'NULL::INTEGER', 'null', ''],
  ['INTEGER[]', 'NULL::INTEGER[]', 'null', ''],
  ['INTEGER[]', '[1, NULL]', '[1,null]', '"[1,null]"'],
  ['INTEGER[]', '[]::INTEGER[]', '[]'],
  ['INTEGER[2]', '[1, 2]::INTEGER[2]', '[1,2]', '"[1,2]"'],
  ['STRUCT(a INTEGER, "b c" BOOLEAN[])', "{'a': 1, 'b c': [true, NULL]}",
   '{"a":1,"b c":[true,null]}', '"{""a"":1,""b c"":[true,null]}"'],
  ['MAP(VARCHAR, INTEGER)', "MAP {'k': 1, 'l': NULL}", '{"k":1,"l":null}',
   '"{""k"":1,""l"":null}"'],
  ['UNION(num INTEGER, str VARCHAR)', "'x'::UNION(num INTEGER, str VARCHAR)", '{"str":"x"}',
   '"{""str"":""x""}"'],
  // The same rules inside.
  ['BIGINT[]', '[9007199254740993, 1]', '["9007199254740993",1]', '"[""9007199254740993"",1]"'],
  ['DECIMAL(4,2)[]', '[1.50::DECIMAL(4,2)]', '["1.50"]', '"[""1.50""]"'],
  ['STRUCT(d DATE, t TIMESTAMP WITH TIME ZONE, f DOUBLE, b BLOB, h HUGEINT, u UUID)[]',
   `[{'d': DATE '2026-06-29', 't': TIMESTAMPTZ '2026-06-29 00:00:00Z', 'f': 'nan'::DOUBLE,
      'b': '\\xFF'::BLOB, 'h': 1::HUGEINT, 'u': '00000000-0000-0000-0000-000000000001'::UUID}]`,
   '[{"d":"2026-06-29","t":"2026-06-29T00:00:00Z","f":"NaN","b":"/w==","h":"1",' +
       '"u":"00000000-0000-0000-0000-000000000001"}]',
   '"[{""d"":""2026-06-29"",""t"":""2026-06-29T00:00:00Z"",""f"":""NaN"",""b"":""/w=="",' +
       '""h"":""1"",""u"":""00000000-0000-0000-0000-000000000001""}]"'],
  ['MAP(DATE, INTERVAL[])', "MAP {DATE '2026-06-29': [INTERVAL '1 day']}",
   '{"2026-06-29":["1 day"]}', '"{""2026-06-29"":[""1 day""]}"'],
];

for (const [type, sql, json, csv = json.replace(/^"(.*)"$/, '$1')] of kValues) {
  test(`${type}: ${sql}`, async () => {
    const ask = async (accept) => {
      const answer = await server.query('demo', `SELECT ${sql} AS v`, { accept });
      assert.equal(answer.status, 200, answer.text);
      return answer;
    };
    const whole = await ask('application/json');
    assert.deepEqual(whole.json.columns, [{ name: 'v', type }]);
    assert.equal(/"rows":\[\[(.*)\]\],"row_count":1,/.exec(whole.text)[1], json);
    assert.equal((await ask('application/x-ndjson')).text, `{"v":${json}}\n`);
    assert.equal((await ask('text/csv')).text, `v\r\n${csv}\r\n`);
  });
}

test('a type without a form is named, with its column', async () => {
  const answer = await server.query('demo', 'SELECT 1 AS a, 1::VARIANT AS odd');
  assert.deepEqual([answer.status, answer.json.code], [400, 'sql_error'], answer.text);
  assert.match(answer.json.detail, /column "odd".*VARIANT/s);
});

test('many rows of every value at once keep them apart', async () => {
  const list = kValues.map(([, sql], index) => `${sql} AS c${index}`).join(', ');
  const sql = `SELECT n, ${list} FROM range(300) t(n) ORDER BY n`;
  const answer = await server.query('demo', sql);
  assert.equal(answer.status, 200, answer.text);
  const expected = kValues.map(([, , json]) => JSON.parse(json));
  assert.equal(answer.json.row_count, 300);
  answer.json.rows.forEach((row, n) => assert.deepEqual(row, [n, ...expected]));
});
