// Which columns a stream has, in which order and spelling.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { before, test } from 'node:test';
import { ndjson, startWith } from './harness.mjs';
import { batchFiles, readParquet } from './independent.mjs';

const kColumnsMax = 1024;
let server;
before(async () => { server = await startWith('demo', []); });

const view = (stream) => `raw_extracted.stream_${stream}`;

async function refused(stream, body, { line, column, reason }) {
  const answer = await server.post('demo', stream, body, { id: 'refused' });
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.code, 'bad_batch');
  assert.equal(answer.json.errors[0].line, line);
  assert.equal(answer.json.errors[0].column, column);
  assert.match(answer.json.errors[0].reason, reason);
}

test('a later batch whose id sorts first adds a column: it comes last and stays', async () => {
  await server.createReceiver('demo', 'grows');
  await server.land('demo', 'grows', [{ z: '1', m: '2' }], 'm-later');
  await server.land('demo', 'grows', [{ a: '3', m: '4', z: '5' }], 'a-sooner');
  const columns = ['z', 'm', 'a', 'filename', '_batch_id'];
  const rows = [['5', '4', '3', 'a-sooner'], ['1', '2', null, 'm-later']];
  const ordered = `SELECT * EXCLUDE (filename) FROM ${view('grows')} ORDER BY _batch_id`;

  assert.deepEqual(await server.columns('demo', 'grows'), columns);
  assert.deepEqual(await server.rows('demo', ordered), rows);
  await server.restart();
  assert.deepEqual(await server.columns('demo', 'grows'), columns);
  assert.deepEqual(await server.rows('demo', ordered), rows);

  await server.land('demo', 'grows', [{ '0': '6' }], '0-first');
  assert.deepEqual(await server.columns('demo', 'grows'),
                   ['z', 'm', 'a', '0', 'filename', '_batch_id']);
});

test('a stream whose batch files are taken away answers zero rows and its columns', async () => {
  await server.createReceiver('demo', 'emptied');
  await server.land('demo', 'emptied', [{ b: '1' }], 'one');
  await server.land('demo', 'emptied', [{ a: '2' }], 'two');
  const stream = server.streamFolder('demo', 'emptied');
  const elsewhere = join(server.data, 'taken');
  mkdirSync(elsewhere);
  for (const path of batchFiles(stream)) renameSync(path, join(elsewhere, basename(path)));

  const empty = async () => {
    const { json } = await server.query('demo', `SELECT * FROM ${view('emptied')}`);
    return [json.columns.map(({ name }) => name), json.rows];
  };
  const expected = [['b', 'a', 'filename', '_batch_id'], []];
  assert.deepEqual(await empty(), expected);
  await server.restart();
  assert.deepEqual(await empty(), expected);
  await server.land('demo', 'emptied', [{ a: '3' }], 'three');
  assert.deepEqual(await server.rows('demo', `SELECT b, a FROM ${view('emptied')}`), [[null, '3']]);
});

test('without registration another ASCII case is stored under the first spelling', async () => {
  await server.createReceiver('demo', 'cases');
  await server.land('demo', 'cases', [{ Temp: '1', 'Größe': '2' }], 'first');
  await server.land('demo', 'cases', [{ TEMP: '3', 'gRößE': '4' }], 'second');
  await server.land('demo', 'cases', [{ 'GRÖßE': '5' }], 'third');  // ö and Ö are no ASCII
  assert.deepEqual(await server.columns('demo', 'cases'),
                   ['Temp', 'Größe', 'GRÖßE', 'filename', '_batch_id']);
  assert.deepEqual(
      await server.rows('demo', `SELECT * EXCLUDE (filename, _batch_id) FROM ${view('cases')}
                                 ORDER BY _batch_id`),
      [['1', '2', null], ['3', '4', null], [null, null, '5']]);
  // Not only in the view, which folds names: an outside reader of a file finds them so, too.
  const second = join(server.streamFolder('demo', 'cases'), 'data/second.parquet');
  assert.deepEqual((await readParquet(second)).columns, ['Temp', 'Größe', '_batch_id']);
  await refused('cases', ndjson([{ temp: '1' }, { a: '1', A: '2' }]),
                { line: 2, column: 'A', reason: /'a'|case/ });
});

test('registered columns are there in their order, and no others', async () => {
  await server.createReceiver('demo', 'listed', { columns: ['ts', 'Sensor', 'value'] });
  await server.land('demo', 'listed', [{ value: '1' }], 'one');
  const columns = ['ts', 'Sensor', 'value', 'filename', '_batch_id'];
  assert.deepEqual(await server.columns('demo', 'listed'), columns);
  assert.deepEqual(await server.rows('demo', `SELECT ts, "Sensor", value FROM ${view('listed')}`),
                   [[null, null, '1']]);
  await refused('listed', ndjson([{ ts: '1' }, { sensor: 'x' }]),
                { line: 2, column: 'sensor', reason: /'Sensor'/ });
  await refused('listed', ndjson([{ valeu: 'x' }]),
                { line: 1, column: 'valeu', reason: /'value'/ });
  await server.restart();
  await refused('listed', ndjson([{ other: 'x' }]), { line: 1, column: 'other', reason: /other/ });
  assert.deepEqual(await server.columns('demo', 'listed'), columns);
});

const kReserved = ['filename', 'FileName', '_batch_id', '_BATCH_ID', '_dt', '_DT', '_hour',
                   '_received_at', '_strata', '_strata_x', '_STRATA_manifest', '_stratagem'];

test('reserved names, in any case, are refused and told to be renamed', async () => {
  await server.createReceiver('demo', 'reserved');
  for (const name of kReserved) {
    await refused('reserved', ndjson([{ a: '1' }, { [name]: 'x' }]),
                  { line: 2, column: name, reason: /rename/i });
    const answer = await server.control('/knowledgebase/demo/strata/receivers',
                                        { stream: 'never', columns: ['a', name] });
    assert.equal(answer.status, 400, name);
  }
  // Names that only look like them.
  await server.land('demo', 'reserved', [{ file_name: '1', batch_id: '2', dt: '3', hour: '4',
                                           strata: '5', _hours: '6' }], 'looks');
  assert.deepEqual(await server.columns('demo', 'reserved'),
                   ['file_name', 'batch_id', 'dt', 'hour', 'strata', '_hours', 'filename',
                    '_batch_id']);
});

const wide = (first, count) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${first + n}`, 'x']));

test('a stream has 1,024 columns and not one more', async () => {
  await server.createReceiver('demo', 'wide');
  await server.land('demo', 'wide', [wide(0, 1000)], 'one');
  const over = await server.post('demo', 'wide', ndjson([wide(1000, 25)]), { id: 'over' });
  assert.equal(over.status, 400, over.text);
  assert.equal(over.json.code, 'bad_batch');
  assert.match(over.json.errors[0].reason, /1024/);
  const atOnce = await server.post('demo', 'wide', ndjson([wide(0, kColumnsMax + 1)]));
  assert.equal(atOnce.status, 400, atOnce.text);
  await server.land('demo', 'wide', [wide(1000, 24)], 'over');  // a rejected id is not consumed
  const columns = await server.columns('demo', 'wide');
  assert.equal(columns.length, kColumnsMax + 2);
  assert.deepEqual(columns.slice(1022), ['c1022', 'c1023', 'filename', '_batch_id']);
  await server.land('demo', 'wide', [wide(500, 10)], 'known');
  assert.deepEqual(await server.rows('demo', `SELECT count(*), count(c500), count(c1023)
                                              FROM ${view('wide')}`), [[3, 2, 1]]);
});

test('{} is a row of NULLs if the stream has columns, else refused', async () => {
  await server.createReceiver('demo', 'nothing');
  await refused('nothing', '{}\n{}\n', { line: 1, column: undefined, reason: /no record/ });
  await server.land('demo', 'nothing', [{ a: '1' }, {}], 'some');
  await server.land('demo', 'nothing', '{}\n{}\n', 'none');
  assert.deepEqual(await server.rows('demo', `SELECT a, _batch_id FROM ${view('nothing')}
                                              ORDER BY ALL`),
                   [['1', 'some'], [null, 'none'], [null, 'none'], [null, 'some']]);
  await server.createReceiver('demo', 'nothing_listed', { columns: ['a'] });
  await server.land('demo', 'nothing_listed', '{}\n', 'none');
  assert.deepEqual(await server.rows('demo', `SELECT a, _batch_id FROM ${view('nothing_listed')}`),
                   [[null, 'none']]);
});
