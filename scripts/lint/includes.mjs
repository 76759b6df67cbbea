// Which folder under src/ may include which: the module table of docs/ARCHITECTURE.md. Arrows
// point down only, so a module can be understood, tested and replaced with what lies below it.
import { codeOnly, cppFiles, offence } from './tree.mjs';

const kBelowApi = [
  'base', 'io', 'ndjson', 'parquet', 'sql_gate', 'duck', 'catalog', 'lock', 'kb', 'stream',
  'ontology', 'ask', 'jobs', 'http',
];

export const kMayInclude = {
  base: [],
  io: ['base'],
  ndjson: ['base'],
  parquet: ['base'],
  sql_gate: ['base'],
  duck: ['base', 'io', 'parquet', 'sql_gate'],
  catalog: ['base'],
  lock: ['base', 'io'],
  kb: ['base', 'io', 'duck', 'catalog', 'lock'],
  stream: ['base', 'io', 'ndjson', 'parquet', 'duck', 'catalog', 'kb'],
  ontology: ['base', 'duck', 'catalog', 'kb'],
  ask: ['base', 'duck', 'ontology'],
  jobs: ['base', 'catalog', 'lock'],
  http: ['base'],
  api: kBelowApi,
  cli: ['base', 'http'],
  app: [...kBelowApi, 'api', 'cli'],
};

const moduleOf = (path) => /^src\/([^/]+)\//.exec(path)?.[1];
const lineOf = (text, offset) => text.slice(0, offset).split('\n').length;

function mayNotUse(path, line, module, other) {
  if (other === module || kMayInclude[module].includes(other)) return [];
  const allowed = kMayInclude[module].join(' ') || 'nothing';
  return [offence(path, line, `${module} may not use ${other}; it may use ${allowed}`)];
}

function includeOffences(path, text) {
  const module = moduleOf(path);
  if (!module) return [];
  if (!kMayInclude[module]) return [offence(path, 1, `module ${module} is not in the table`)];
  return codeOnly(text).split('\n').flatMap((line, index) => {
    const other = /^\s*#\s*include\s*"([^/"]+)\//.exec(line)?.[1];
    return other && kMayInclude[other] ? mayNotUse(path, index + 1, module, other) : [];
  });
}

/// The libraries a module links have to obey the same table.
function dependsOffences(path, text) {
  const module = /^src\/([^/]+)\/CMakeLists\.txt$/.exec(path)?.[1];
  if (!module || !kMayInclude[module]) return [];
  return [...text.matchAll(/\bDEPENDS\s+((?:[a-z]+\s*)+)/g)].flatMap(
      (match) => match[1].trim().split(/\s+/).filter((other) => kMayInclude[other]).flatMap(
          (other) => mayNotUse(path, lineOf(text, match.index), module, other)));
}

/// A header that reaches itself through its own includes.
function cycleOffences(tree) {
  const includes = new Map(cppFiles(tree).map(([path, text]) => [
    path,
    [...codeOnly(text).matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)].map((match) => `src/${match[1]}`)
        .filter((target) => tree.has(target)),
  ]));
  const done = new Set();
  const offences = [];
  const visit = (path, trail) => {
    if (trail.includes(path)) {
      const loop = [...trail.slice(trail.indexOf(path)), path].join(' -> ');
      offences.push(offence(path, 1, `includes itself: ${loop}`));
      return;
    }
    if (done.has(path)) return;
    for (const target of includes.get(path)) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of includes.keys()) visit(path, []);
  return offences;
}

export function lint(tree) {
  const perFile = [...tree].flatMap(([path, text]) => [
    ...(/\.(h|cpp)$/.test(path) ? includeOffences(path, text) : []),
    ...dependsOffences(path, text),
  ]);
  return [...perFile, ...cycleOffences(tree)];
}
