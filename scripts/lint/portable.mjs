// What must hold on every machine: no registry host, no machine's own path, a README per module.
import { offence } from './tree.mjs';

// Put together from parts, so that this file passes its own lint.
const kRegistryHosts = [
  ['registry', 'npmjs', 'org'], ['registry', 'yarnpkg', 'com'], ['deb', 'debian', 'org'],
  ['security', 'debian', 'org'], ['pypi', 'org'], ['files', 'pythonhosted', 'org'],
  ['crates', 'io'], ['proxy', 'golang', 'org'], ['repo', 'maven', 'apache', 'org'],
  ['repo1', 'maven', 'org'],
].map((parts) => parts.join('.'));

const kMachinePath = /(?:^|[\s"'`=(:])(\/(?:home|Users|work)\/[\w.-]+|\/root\/\.[\w.-]+)/;

function lineOffences(path, line, number) {
  const offences = [];
  const host = kRegistryHosts.find((name) => line.includes(name));
  if (host) offences.push(offence(path, number, `names the package registry ${host}`));
  if (/\bpackage-lock\.json$|\.npmrc$/.test(path) && /:\/\//.test(line) && !/"url":/.test(line)) {
    offences.push(offence(path, number, 'a lockfile pins by integrity hash and names no host'));
  }
  const own = kMachinePath.exec(line)?.[1];
  if (own) offences.push(offence(path, number, `names a path of one machine: ${own}`));
  return offences;
}

function missingReadmes(tree) {
  const modules = [...tree.keys()].map((path) => /^src\/([^/]+)\//.exec(path)?.[1]).filter(Boolean);
  return [...new Set(modules)].filter((module) => !tree.has(`src/${module}/README.md`))
      .map((module) => offence(`src/${module}`, 1, 'needs a README.md: purpose, API, invariants'));
}

export function lint(tree) {
  const lines = [...tree].flatMap(([path, text]) => text.split('\n').flatMap(
      (line, index) => lineOffences(path, line, index + 1)));
  return [...lines, ...missingReadmes(tree)];
}
