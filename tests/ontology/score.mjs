// How far a produced model is from the expected one. Both are plain JSON, as README.md has them; a
// produced model is somebody else's, so anything may be missing in it.

export const kMarks = { f1: 0.95, type: 0.98, role: 0.98 };
const kAgreementMin = 0.8;
const kFact = 'fact';
const kNullTokens = ['', 'N/A', '-'];

/// Decimals by whatever width; the two words for what names a thing.
const plainType = (type) => String(type).toUpperCase().replace(/^(DECIMAL|NUMERIC)\b.*/, 'DECIMAL');
const plainRole = (role) => (role === 'identifier' ? 'key' : role);

/// Produced types as [{place, key, properties}]: place `fact`, or the key column. A column that is
/// another type's key only says where the link is, and is nobody's property. One type in several
/// roles of a row says what a type for each role says, and counts as so many.
function drawn(produced) {
  const types = (produced.types ?? []).flatMap(({ roles = [], ...type }) => [
    type, ...roles.map((role) => ({ ...type, ...role }))]);
  const keys = new Set(types.filter(({ kind }) => kind !== kFact).map(({ key }) => key));
  return types.map(({ kind, key, properties = [] }) => {
    const own = properties.map(({ column }) => column).filter((column) => !keys.has(column));
    if (kind !== kFact) return { place: key, key, properties: new Set(own) };
    const named = typeof key === 'string' && !keys.has(key) ? [key] : [];
    return { place: kFact, key, properties: new Set([...own, ...named]) };
  });
}

/// Where each column of the expected model counts: its place as drawn, or of the places that are as
/// right the one where the produced model has it.
function placesOf(expected, types) {
  const has = (place, column) => (place === column ? types.some((one) => one.place === column) :
    types.some((one) => one.place === place && one.properties.has(column)));
  const asDrawn = new Map(expected.types.flatMap(({ key, properties }) => [
    [key, key], ...properties.map((column) => [column, key])]));
  for (const column of expected.fact?.properties ?? []) asDrawn.set(column, kFact);
  for (const [column, others] of Object.entries(expected.or ?? {})) {
    const all = [asDrawn.get(column), ...others];
    asDrawn.set(column, all.find((place) => has(place, column)) ?? all[0]);
  }
  return asDrawn;
}

function wantedTypes(expected, places) {
  const keys = [...places].filter(([column, place]) => column === place).map(([column]) => column);
  const wanted = expected.fact ? [kFact, ...keys] : keys;
  return wanted.map((place) => ({
    place,
    properties: [...places].filter(([column, at]) => at === place && column !== place)
        .map(([column]) => column),
  }));
}

/// The share of the larger of the two sets of properties that is in both.
function agreement(wanted, found) {
  const larger = Math.max(wanted.properties.length, found.properties.size);
  const both = wanted.properties.filter((column) => found.properties.has(column)).length;
  return larger === 0 ? 1 : both / larger;
}

/// A fact needs no key; one that it claims among the stream's columns has to be the right one.
const keyFits = (expected, wanted, found) => wanted.place !== kFact ||
  !(found.key in expected.columns) || found.key === expected.fact.key;

function scoreTypes(expected, produced) {
  const left = drawn(produced);
  const count = left.length;
  const places = placesOf(expected, left);
  const faults = [];
  let right = 0;
  let wrong = 0;
  for (const wanted of wantedTypes(expected, places)) {
    const at = left.findIndex(({ place }) => place === wanted.place);
    const [found] = at < 0 ? [] : left.splice(at, 1);
    if (found && keyFits(expected, wanted, found) && agreement(wanted, found) >= kAgreementMin) {
      ++right;
      continue;
    }
    ++wrong;
    faults.push(!found ? `no type ${wanted.place}` : `type ${wanted.place}: (key ${found.key}) ` +
      `has ${[...found.properties]}; expected ${wanted.properties}`);
  }
  faults.push(...left.map(({ place }) => `type ${place} is too many`));
  return { right, expected: right + wrong, produced: count, places, faults };
}

/// What the cells of `rows` are where types are a matter of taste, by column: `bits`, only 0 and 1;
/// `whole`, numbers that read back as they are written.
export function looksOf(rows) {
  const looks = {};
  for (const column of new Set(rows.flatMap(Object.keys))) {
    const cells = rows.map((row) => String(row[column] ?? '')).filter(
        (cell) => !kNullTokens.includes(cell));
    const whole = cells.every((cell) => /^(0|[1-9]\d{0,17})$/.test(cell));
    const bits = cells.every((cell) => cell === '0' || cell === '1');
    if (whole) looks[column] = bits ? 'bits' : 'whole';
  }
  return looks;
}

/// Types that hold the same as the expected one: DECIMAL is exact, where a DOUBLE is none; a code
/// that is a number loses nothing as one, if it has no leading zeros; 0 and 1 stay what they are.
function sameTypes({ type, role }, look) {
  if (type === 'DOUBLE') return ['DECIMAL'];
  if (type === 'VARCHAR' && role === 'key' && look !== undefined) return ['BIGINT'];
  return type === 'BOOLEAN' && look === 'bits' ? ['BIGINT'] : [];
}

/// Everything a column may be, as [type, role]. The category that is all a type has for a key may
/// be called its key or its label: the model says the same.
function mayBe(column, { type, role, or = [] }, places, look) {
  const all = [{ type, role }, ...or.map((one) => ({ type, role, ...one })),
    ...sameTypes({ type, role }, look).map((same) => ({ type: same, role }))];
  const isKey = places.get(column) === column;
  return all.flatMap((one) => (isKey && one.role === 'category' ?
    ['category', 'key', 'label'].map((each) => [one.type, each]) : [[one.type, one.role]]));
}

function scoreColumns(expected, produced, places, looks) {
  const faults = [];
  const counts = { columns: 0, typesRight: 0, rolesRight: 0 };
  const listed = (produced.types ?? []).flatMap(({ properties = [] }) => properties);
  for (const [column, wanted] of Object.entries(expected.columns)) {
    const found = produced.columns?.[column] ?? listed.find((one) => one.column === column) ?? {};
    const all = mayBe(column, wanted, places, looks[column]);
    const sameType = all.filter(([type]) => type === plainType(found.type));
    const sameRole = (sameType.length ? sameType : all).some(
        ([, role]) => role === plainRole(found.role));
    ++counts.columns;
    counts.typesRight += sameType.length > 0;
    counts.rolesRight += sameRole;
    if (sameType.length > 0 && sameRole) continue;
    faults.push(`column ${column} is ${found.type} ${found.role}; ` +
      `expected ${wanted.type} ${wanted.role}`);
  }
  return { ...counts, faults };
}

/// Links are told, not marked: they follow from the types that are right.
function scoreLinks(expected, produced, places) {
  const wanted = new Set(expected.links.map(([, key]) => key));
  for (const [column, place] of places) {
    if (column === place && column in (expected.or ?? {})) wanted.add(column);
    if (column !== place) wanted.delete(column);
  }
  const found = new Set((produced.links ?? []).map(({ column }) => column));
  return { links: wanted.size, linksRight: [...wanted].filter((key) => found.has(key)).length };
}

/// The counts of one stream, and its faults in words. `produced` undefined is a model without
/// anything in it; `looks` are looksOf() the stream's rows.
export function scoreStream(expected, produced = {}, looks = {}) {
  const { places, faults, ...types } = scoreTypes(expected, produced);
  const { faults: ofColumns, ...columns } = scoreColumns(expected, produced, places, looks);
  return { ...types, ...columns, ...scoreLinks(expected, produced, places),
    faults: [...faults, ...ofColumns] };
}

const kCounts = ['right', 'expected', 'produced', 'columns', 'typesRight', 'rolesRight', 'links',
  'linksRight'];
export const sum = (scores) => Object.fromEntries(
    kCounts.map((count) => [count, scores.reduce((all, score) => all + score[count], 0)]));

/// Counts as shares; of nothing everything is right.
export function shares(counts) {
  const share = (part, whole) => (whole === 0 ? 1 : part / whole);
  return {
    precision: share(counts.right, counts.produced),
    recall: share(counts.right, counts.expected),
    f1: share(2 * counts.right, counts.expected + counts.produced),
    type: share(counts.typesRight, counts.columns),
    role: share(counts.rolesRight, counts.columns),
    links: share(counts.linksRight, counts.links),
  };
}

export const isEnough = (found) => Object.entries(kMarks).every(
    ([name, mark]) => found[name] >= mark);
