// The model that is expected of a stream, out of its domain's table of columns. A column's place
// is `fact`, or the key column of the type it belongs to; a column whose place is itself is a
// type's key.

/// A domain's row [column, type, role, place, name at level 3, options] with its names.
/// Options: `places` where else it may be, `or` what else it may be, `spelling` (noise.mjs).
export const columnsOf = (domain) => domain.columns.map(
    ([column, type, role, place, renamed, options = {}]) => (
      { column, type, role, place, renamed, ...options }));

/// At level 3 an ambiguous day cannot be read: it stays text, about time.
const whatItIs = ({ type, role, or, spelling }, level) => (level >= 3 && spelling === 'ambiguous' ?
  { type: 'VARCHAR', role: 'time', or: [{ role: 'text' }] } :
  { type, role, ...(or && { or }) });

/// The expected model (README.md) of `domain` at a noise level: plain JSON.
export function expectedModel(domain, level) {
  const columns = columnsOf(domain);
  const renames = new Map(columns.map(({ column, renamed }) => [column, renamed]));
  const named = (place) => (level >= 3 ? renames.get(place) ?? place : place);
  const propertiesOf = (place) => columns.filter((one) => one.place === place &&
    one.column !== place).map(({ column }) => named(column));
  const keys = columns.filter(({ column, place }) => column === place).map(({ column }) => column);
  const from = domain.fact ? 'fact' : domain.entity;
  const fact = domain.fact && { name: domain.fact.name,
    ...(domain.fact.key && { key: named(domain.fact.key) }), properties: propertiesOf('fact') };
  return {
    fact,
    types: keys.map((key) => (
      { name: domain.types[key], key: named(key), properties: propertiesOf(key) })),
    links: keys.filter((key) => key !== from).map((key) => [named(from), named(key)]),
    columns: Object.fromEntries(
        columns.map((one) => [named(one.column), whatItIs(one, level)])),
    or: Object.fromEntries(columns.filter(({ places }) => places).map(
        ({ column, places }) => [named(column), places.map(named)])),
  };
}
