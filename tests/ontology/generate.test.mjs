// The streams are the ones that were written down, and they show what is expected of them: what
// belongs to a type follows from its key, what is the fact's does not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { digests, kDomains, kLevels, streams } from './generate.mjs';

const all = streams().map((one) => ({ ...one, rows: one.rows() }));
const isNull = (cell) => [undefined, null, '', 'N/A', '-'].includes(cell);

/// How many of the rows that have both cells have the cell that is the usual one beside their key.
function follows(rows, key, column) {
  const groups = new Map();
  const told = rows.filter((row) => !isNull(row[key]) && !isNull(row[column]));
  for (const row of told) {
    const counts = groups.get(row[key]) ?? new Map();
    counts.set(String(row[column]), (counts.get(String(row[column])) ?? 0) + 1);
    groups.set(row[key], counts);
  }
  const usual = [...groups.values()].reduce((sum, counts) => sum + Math.max(...counts.values()), 0);
  return { share: usual / told.length, repeats: told.length / groups.size };
}

test('digests.txt has the digest of every stream and of its model, and again', () => {
  const written = readFileSync(new URL('digests.txt', import.meta.url), 'utf8');
  assert.equal(digests(), written);
  assert.equal(digests(), written);
});

test('half of the streams are open: two levels of each domain, as many of each level', () => {
  assert.equal(all.length, kDomains.length * kLevels.length);
  const open = all.filter((one) => one.open);
  const byDomain = kDomains.map(({ name }) => open.filter(
      (one) => one.name.startsWith(`${name}-`)).length);
  assert.deepEqual(byDomain, kDomains.map(() => 2));
  const byLevel = kLevels.map((level) => open.filter((one) => one.level === level).length);
  assert.deepEqual(byLevel, kLevels.map(() => 6));
});

test('at most one column in twenty has two right answers', () => {
  const columns = all.flatMap(({ model }) => Object.entries(model.columns).map(
      ([column, { or }]) => or !== undefined || column in model.or));
  assert.ok(columns.filter(Boolean).length <= columns.length / 20);
});

for (const { name, level, rows, model } of all) {
  test(`${name}: every column is there, is expected and is in one place`, () => {
    const places = [...(model.fact?.properties ?? []),
      ...model.types.flatMap(({ key, properties }) => [key, ...properties])].sort();
    assert.deepEqual(Object.keys(rows[0]).sort(), places);
    assert.deepEqual(Object.keys(model.columns).sort(), places);
    for (const column of places) {
      assert.ok(rows.some((row) => !isNull(row[column])), column);
    }
  });

  test(`${name}: properties follow from their keys, the fact's from none`, () => {
    const settled = (properties) => properties.filter((column) => !(column in model.or));
    for (const { key, properties } of model.types) {
      for (const column of settled(properties)) {
        const { share } = follows(rows, key, column);
        assert.ok(level < 2 ? share === 1 : share >= 0.97, `${key} tells ${column}: ${share}`);
      }
      for (const column of settled(model.fact?.properties ?? [])) {
        if (['constant', 'text'].includes(model.columns[column].role)) continue;
        const { share, repeats } = follows(rows, key, column);
        assert.ok(repeats < 2 || share < 0.96, `${key} tells ${column}: ${share}`);
      }
    }
    const key = model.fact?.key;
    if (key) assert.equal(new Set(rows.map((row) => String(row[key]))).size, rows.length);
  });

  test(`${name}: below 2 % of a column's numbers are none`, () => {
    for (const [column, { type }] of Object.entries(model.columns)) {
      if (!['BIGINT', 'DECIMAL', 'DOUBLE'].includes(type)) continue;
      const cells = rows.map((row) => row[column]).filter((cell) => !isNull(cell));
      const none = cells.filter((cell) => !Number.isFinite(Number(cell))).length;
      assert.ok(none < cells.length * 0.02, `${column}: ${none} of ${cells.length}`);
      assert.equal(none > 0, level >= 2 && model.columns[column].role === 'measure', column);
    }
  });
}

test('a day with slashes is month first beyond doubt, or is expected to stay text', () => {
  const found = { DATE: 0, VARCHAR: 0 };
  for (const { name, rows, model } of all) {
    for (const [column, { type, role }] of Object.entries(model.columns)) {
      const days = role === 'time' ? rows.map((row) => /^(\d\d)\/(\d\d)\/\d{4}$/.exec(row[column]))
          .filter(Boolean) : [];
      if (days.length === 0) continue;
      const dayFirst = days.some(([, first]) => first > 12);
      const monthFirst = days.some(([, , next]) => next > 12);
      assert.equal(type, dayFirst && monthFirst ? 'VARCHAR' : 'DATE', `${name} ${column}`);
      assert.ok(monthFirst, `${name} ${column}`);
      ++found[type];
    }
  }
  assert.deepEqual(found, { DATE: 2, VARCHAR: 2 });
});
