// The judge against models made by hand: a perfect one scores 1, each kind of mistake costs what it
// should and no more.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { streams } from './generate.mjs';
import { perfect } from './perfect.mjs';
import { isEnough, looksOf, scoreStream, shares, sum } from './score.mjs';

const kLetters = ['a', 'b', 'c', 'd', 'e'];
const facts = kLetters.map((letter) => `f_${letter}`);

/// A fact of five properties, a shop of five, a city that is nothing but its key, and an owner
/// who is the shop's property or a type: twelve columns besides the fact's and the shop's.
const expected = {
  fact: { name: 'Sale', key: 'f_a', properties: facts },
  types: [{ name: 'Shop', key: 'shop', properties: ['s_a', 's_b', 's_c', 's_d', 'owner'] },
    { name: 'City', key: 'city', properties: [] }],
  links: [['fact', 'shop'], ['fact', 'city']],
  columns: {
    ...Object.fromEntries(facts.map((column) => [column, { type: 'DECIMAL', role: 'measure' }])),
    shop: { type: 'VARCHAR', role: 'key' },
    ...Object.fromEntries(['s_a', 's_b', 's_c', 's_d'].map(
        (column) => [column, { type: 'VARCHAR', role: 'label' }])),
    owner: { type: 'VARCHAR', role: 'category' },
    city: { type: 'VARCHAR', role: 'category', or: [{ type: 'BIGINT', role: 'ordinal' }] },
  },
  or: { owner: ['owner', 'fact'] },
};
const kRight = { right: 3, expected: 3, produced: 3, columns: 12, typesRight: 12, rolesRight: 12,
  links: 2, linksRight: 2 };

const [kSale, kShop, kCity] = [0, 1, 2];
const remove = (type, column) => {
  type.properties = type.properties.filter((one) => one.column !== column);
};
const add = (type, column) => type.properties.push({ column });
const addType = (model, key, properties = []) => model.types.push(
    { name: key, kind: 'dimension', key, properties: properties.map((column) => ({ column })) });

const cases = [
  ['nothing wrong', () => {}, {}],
  ['other names of types', ({ types }) => types.forEach((one) => { one.name = 'x'; }), {}],
  ['a missing type', ({ types }) => types.splice(kShop, 1), { right: 2, produced: 2 }],
  ['a type too many', (model) => addType(model, 's_z'), { produced: 4 }],
  ['a type twice', ({ types }) => types.push(types[kCity]), { produced: 4 }],
  ['another key', ({ types }) => { types[kShop].key = 's_a'; }, { right: 2 }],
  ['one of five properties missing', ({ types }) => remove(types[kShop], 's_a'), {}],
  ['two of five properties missing', ({ types }) => {
    remove(types[kShop], 's_a');
    remove(types[kShop], 's_b');
  }, { right: 2 }],
  ['one property too many', ({ types }) => add(types[kShop], 'f_e'), {}],
  ['two properties too many', ({ types }) => {
    add(types[kShop], 'f_d');
    add(types[kShop], 'f_e');
  }, { right: 2 }],
  ['a property of a type that has none', ({ types }) => add(types[kCity], 's_a'), { right: 2 }],
  ['a column that links, among the properties', ({ types }) => {
    add(types[kSale], 'shop');
    add(types[kSale], 'city');
    add(types[kShop], 'city');
    add(types[kShop], 'shop');
  }, {}],
  ['a type left as the fact\'s column', ({ types }) => {
    types.splice(kCity, 1);
    add(types[kSale], 'city');
  }, { right: 2, produced: 2 }],
  ['no fact', ({ types }) => types.shift(), { right: 2, produced: 2 }],
  ['a dimension instead of the fact', ({ types }) => { types[kSale].kind = 'dimension'; },
   { right: 2 }],
  ['a fact instead of a dimension', ({ types }) => { types[kCity].kind = 'fact'; }, { right: 2 }],
  ['a fact without a key', ({ types }) => { types[kSale].key = null; }, {}],
  ['a fact with a key of the product\'s own', ({ types }) => { types[kSale].key = '_row'; }, {}],
  ['a fact with its key outside the properties', ({ types }) => remove(types[kSale], 'f_a'), {}],
  ['a fact with a wrong key', ({ types }) => { types[kSale].key = 'f_b'; }, { right: 2 }],
  ['the other place: a type', (model) => {
    remove(model.types[kShop], 'owner');
    addType(model, 'owner');
  }, { right: 4, expected: 4, produced: 4, links: 3 }],
  ['the other place: the fact', ({ types }) => {
    remove(types[kShop], 'owner');
    add(types[kSale], 'owner');
    add(types[kSale], 's_a');  // six of seven are right; five would not be enough
  }, {}],
  ['a place that is none of the others', ({ types }) => {
    remove(types[kShop], 'owner');
    add(types[kCity], 'owner');
  }, { right: 2 }],
  ['the other place with something in it', (model) => {
    remove(model.types[kShop], 'owner');
    addType(model, 'owner', ['s_a']);
  }, { right: 3, expected: 4, produced: 4, links: 3 }],
  ['a wrong type of a column', ({ columns }) => { columns.f_a.type = 'DOUBLE'; },
   { typesRight: 11 }],
  ['a decimal with its width', ({ columns }) => { columns.f_a.type = 'DECIMAL(12,2)'; }, {}],
  ['a wrong role of a column', ({ columns }) => { columns.s_a.role = 'text'; }, { rolesRight: 11 }],
  ['identifier for key', ({ columns }) => { columns.shop.role = 'identifier'; }, {}],
  ['key for a category that is a type\'s key', ({ columns }) => { columns.city.role = 'key'; }, {}],
  ['key for a category that is none', ({ columns }) => { columns.owner.role = 'key'; },
   { rolesRight: 11 }],
  ['the other type and role', ({ columns }) => {
    columns.city = { type: 'BIGINT', role: 'ordinal' };
  }, {}],
  ['one answer\'s type and the other\'s role', ({ columns }) => { columns.city.role = 'ordinal'; },
   { rolesRight: 11 }],
  ['a column that is nowhere', (model) => {
    remove(model.types[kShop], 's_a');
    delete model.columns.s_a;
  }, { typesRight: 11, rolesRight: 11 }],
  ['a column that only its type describes', ({ columns }) => { delete columns.f_a; }, {}],
  ['a missing link', ({ links }) => links.pop(), { linksRight: 1 }],
];
for (const [name, spoil, costs] of cases) {
  test(`the judge and ${name}`, () => {
    const produced = perfect(structuredClone(expected));
    spoil(produced);
    const { faults, ...score } = scoreStream(expected, produced);
    assert.deepEqual(score, { ...kRight, ...costs });
    assert.equal(faults.length > 0, score.right < score.expected ||
      score.produced > score.right || score.typesRight < 12 || score.rolesRight < 12);
  });
}

test('no model, and an empty one, have nothing right', () => {
  const nothing = { ...kRight, right: 0, produced: 0, typesRight: 0, rolesRight: 0,
    linksRight: 0 };
  assert.deepEqual(sum([scoreStream(expected, undefined)]), nothing);
  assert.deepEqual(sum([scoreStream(expected, {})]), nothing);
});

test('a column that may be in several places and is in none is missing from the first', () => {
  const [shop, city] = expected.types;
  const wider = { ...expected, types: [{ ...shop, properties: [...shop.properties, 'f_z'] }, city],
    columns: { ...expected.columns, f_z: { type: 'BIGINT', role: 'measure' } } };
  const produced = perfect(wider);
  remove(produced.types[kShop], 's_a');
  assert.equal(scoreStream(wider, produced).right, 3);
  remove(produced.types[kShop], 'owner');
  assert.equal(scoreStream(wider, produced).right, 2);
});

test('one type in several roles counts as a type for each', () => {
  const [sale, shop] = perfect(expected).types;
  const roles = [{ key: 'city', properties: [] }];
  const merged = { ...perfect(expected), types: [sale, { ...shop, roles }] };
  assert.deepEqual(sum([scoreStream(expected, merged)]), sum([kRight]));
  roles[0].key = 'f_e';
  assert.deepEqual(sum([scoreStream(expected, merged)]), sum([{ ...kRight, right: 2 }]));
});

test('types that hold the same are as right, others are not', () => {
  const rows = [{ code: '17', zeros: '17', paid: '1', sent: 'Y', heat: '1.5', name: '17' },
    { code: 400, zeros: '0400', paid: 'N/A', sent: '0', heat: '20', name: '18' }, { paid: 0 }];
  const one = (type, role) => ({ type, role });
  const model = { fact: null, types: [], links: [], or: {}, columns: {
    code: one('VARCHAR', 'key'), zeros: one('VARCHAR', 'key'), paid: one('BOOLEAN', 'flag'),
    sent: one('BOOLEAN', 'flag'), heat: one('DOUBLE', 'measure'), name: one('VARCHAR', 'label') } };
  const typeOf = (column) => (column === 'heat' ? 'DECIMAL(3,1)' : 'BIGINT');
  const found = { columns: Object.fromEntries(Object.entries(model.columns).map(
      ([column, { role }]) => [column, one(typeOf(column), role)])) };
  const { faults, ...score } = scoreStream(model, found, looksOf(rows));
  assert.deepEqual(faults.map((fault) => fault.split(' ')[1]), ['zeros', 'sent', 'name']);
  assert.equal(score.typesRight, 3);
  assert.equal(score.rolesRight, 6);
});

test('a list of entities has no fact: one that is produced is too many', () => {
  const list = { ...expected, fact: null, links: [['shop', 'city']], or: {} };
  const produced = perfect(list);
  produced.types.push({ name: 'Sale', kind: 'fact', key: null, properties: [] });
  assert.deepEqual(sum([scoreStream(list, produced)]),
                   { ...kRight, right: 2, expected: 2, produced: 3, links: 1, linksRight: 1 });
});

test('shares are of the sums over streams, and the marks are reached or not', () => {
  const found = shares(sum([{ ...kRight, produced: 5 }, { ...kRight, right: 1 }]));
  assert.deepEqual(found, { precision: 0.5, recall: 4 / 6, f1: 8 / 14, type: 1, role: 1,
    links: 1 });
  const atMarks = { f1: 0.95, type: 0.98, role: 0.98 };
  assert.equal(isEnough(atMarks), true);
  for (const name of Object.keys(atMarks)) {
    assert.equal(isEnough({ ...atMarks, [name]: atMarks[name] - 0.001 }), false, name);
  }
});

const folder = mkdtempSync(join(tmpdir(), 'strata-judge-'));
after(() => rmSync(folder, { recursive: true }));
const program = fileURLToPath(new URL('judge.mjs', import.meta.url));
const run = (...options) => spawnSync(process.execPath, [program, folder, ...options],
                                      { encoding: 'utf8' });
const write = (name, model) => writeFileSync(join(folder, `${name}.json`), JSON.stringify(model));

test('the program: the perfect models of all streams are enough', () => {
  for (const { name, model } of streams()) write(name, perfect(model));
  const { status, stdout } = run('--assert', '--faults', '--reveal');
  const values = stdout.split('\n').filter((line) => line.includes('.000'));
  assert.equal(values.length, streams().length + 3);
  assert.ok(values.every((line) => /^[\w -]+?( +1\.000){6}$/.test(line)), stdout);
  assert.doesNotMatch(stdout, /^ {4}\S/m);
  assert.equal(status, 0);
});

test('the program: hidden streams have a total, and lines of their own when revealed', () => {
  const { name, model } = streams().find(({ open }) => !open);
  write(name, { types: [] });
  const told = run('--faults').stdout;
  assert.equal(told.includes(name), false);
  assert.equal(told.includes('no type'), false);
  assert.match(told, /^total hidden +1\.000 +0\.9/m);
  assert.match(told, /^total open( +1\.000){6}$/m);
  const revealed = run('--faults', '--reveal').stdout;
  assert.match(revealed, new RegExp(`^${name} +1\\.000 +0\\.000`, 'm'));
  assert.ok(revealed.includes('no type fact'));
  assert.equal(run('--open').stdout.includes('hidden'), false);
  write(name, perfect(model));
});

test('the program: below the marks it fails when asked to assert, and only then', () => {
  for (const { name, open } of streams().filter((one) => !one.open)) write(name, { open });
  assert.equal(run('--assert').status, 1);
  assert.equal(run().status, 0);
  assert.equal(run('--assert', '--open').status, 0);
  write(streams().find(({ open }) => open).name, {});
  assert.equal(run('--assert', '--open').status, 1);
});
