/// The produced form of an expected model, with nothing wrong in it: what the judge's tests start
/// from, and an example of what a produced model looks like.
export function perfect(expected) {
  const columns = Object.fromEntries(Object.entries(expected.columns).map(
      ([column, { type, role }]) => [column, { type, role }]));
  const described = (properties) => properties.map((column) => ({ column, ...columns[column] }));
  const { fact } = expected;
  const name = (key) => expected.types.find((one) => one.key === key)?.name ?? fact.name;
  return {
    types: [
      ...(fact ? [{ name: fact.name, kind: 'fact', key: fact.key ?? null,
        properties: described(fact.properties) }] : []),
      ...expected.types.map((one) => ({ name: one.name, kind: 'dimension', key: one.key,
        properties: described(one.properties) })),
    ],
    links: expected.links.map(([from, key]) => ({ from: name(from), to: name(key), column: key })),
    columns,
  };
}
