// Tables of bodies go to as few streams as they can: two bodies may share one unless it would store
// a column of the second by the first's spelling, or have too many columns.
const kColumnsPerStreamMax = 1024;

const asciiLower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/// `cases` as lists that may each go to one stream; `columnsOf` answers a case's columns.
export function groupByColumns(cases, columnsOf) {
  const groups = [];
  for (const one of cases) {
    const columns = columnsOf(one);
    const fits = ({ spelling }) => {
      const added = columns.filter((name) => !spelling.has(asciiLower(name)));
      return spelling.size + added.length <= kColumnsPerStreamMax &&
          columns.every((name) => (spelling.get(asciiLower(name)) ?? name) === name);
    };
    let group = groups.find(fits);
    if (group === undefined) {
      group = { spelling: new Map(), cases: [] };
      groups.push(group);
    }
    for (const name of columns) group.spelling.set(asciiLower(name), name);
    group.cases.push(one);
  }
  return groups.map(({ cases: members }) => members);
}
