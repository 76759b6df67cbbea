// Cases from public bug reports (tests/cases): each row of door.jsonl is played against the real
// program, and each of the 110 cases is in one list: played here, shown by another test, or later.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { kScripts } from './cases_scripts.mjs';
import { kKb, Play } from './cases_steps.mjs';
import { repository, start } from './harness.mjs';

const linesOf = (name) => readFileSync(join(repository, 'tests/cases', name), 'utf8')
                              .split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const kRows = linesOf('door.jsonl').map((line) => JSON.parse(line));
const kLater = linesOf('later.txt').map((line) => line.split(/\s+/, 1)[0]);
const kElsewhere = linesOf('elsewhere.txt').map((line) => {
  const [id, file, ...name] = line.split(/\s+/);
  return { id, file, name: name.join(' ') };
});

/// The list may only shrink: whoever builds what a case waits for moves it and lowers this.
const kWaiting = 37;

/// Every case there is, by kind.
const kCases = {
  encoding: 'ENC 01 03 05 07 08 09 11 13',
  'json-shape': 'JSN 01 02 04 06 07 09 11 12 14 16 18 20 21',
  coercion: 'COE 01 02 04 06 07 09 11 13',
  columns: 'COL 01 03 05 07 09 10 11 13',
  http: 'HTT 01 02 03 04 05 07 08 10 12 14 16 18 20',
  'ids-paths': 'IDP 01 03 05 07 09',
  idempotency: 'IDM 01 02 04 06 07 08 10 11',
  storage: 'STO 01 02 04 06 07 08 09 11',
  locks: 'LCK 01 03 05 06 07',
  'schema-view': 'SCH 01 02 03 05',
  compaction: 'CMP 01 02 04 06',
  retention: 'RET 01 03',
  uploads: 'UPL 01 02 04',
  'feeds-monitors': 'FDM 01 03',
  modelling: 'MOD 01 03 05 06 07 09',
  ask: 'ASK 01 02 04 05 07 08 10 12 14 16',
  'ui-security': 'UIS 01 03',
  load: 'LOD 01',
};
const kKindOf = new Map(Object.entries(kCases).flatMap(([kind, text]) => {
  const [letters, ...numbers] = text.split(' ');
  return numbers.map((number) => [`${letters}-${number}`, kind]);
}));

test('every case is played, shown elsewhere, or waits', () => {
  assert.equal(kKindOf.size, 110);
  const whole = new Set(kRows.filter(({ part }) => part === undefined).map(({ id }) => id));
  const all = [...whole, ...kElsewhere.map(({ id }) => id), ...kLater];
  assert.deepEqual(all.sort(), [...kKindOf.keys()].sort(), 'each once');
  for (const { id, kind, part } of kRows) {
    assert.equal(kind, kKindOf.get(id), id);
    if (part !== undefined) assert.ok(kLater.includes(id), `${id} is played in part, so it waits`);
  }
  for (const { id, file, name } of kElsewhere) {
    const text = readFileSync(join(repository, file), 'utf8');
    assert.ok(name !== '' && text.includes(name), `${id}: ${file} has no "${name}"`);
  }
  assert.equal(kLater.length, kWaiting, 'later.txt only shrinks, and kWaiting with it');
});

let server;
before(async () => {
  server = await start();
  await server.createKb(kKb);
});

for (const [number, row] of kRows.entries()) {
  test(`${row.id} (${row.kind}): ${row.what}`, async (context) => {
    const stream = `${row.id.toLowerCase().replace('-', '_')}_${number}`;
    const play = new Play(server, row, stream);
    await play.run(row.script === undefined ? undefined : kScripts[row.script], context);
  });
}

test('no request made a stream, a knowledgebase or a folder by the way', () => {
  const streams = readdirSync(join(server.kbFolder(kKb), 'strata/streams')).sort();
  assert.deepEqual(streams, [...Play.created].sort());
  assert.deepEqual(readdirSync(join(server.data, 'kb')).sort(), [kKb, 'cases-other']);
});
