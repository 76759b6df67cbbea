// The files the lints look at: what git tracks or would track, as a Map from path to text.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const kBytesMax = 4 * 1024 * 1024;

export function readTree(root) {
  const listed = execFileSync(
      'git', ['-c', `safe.directory=${root}`, 'ls-files', '-z', '-co', '--exclude-standard'],
      { cwd: root, encoding: 'utf8', maxBuffer: kBytesMax });
  const tree = new Map();
  for (const path of listed.split('\0').filter(Boolean).sort()) {
    const file = statSync(join(root, path), { throwIfNoEntry: false });
    if (!file?.isFile() || file.size > kBytesMax) continue;
    const bytes = readFileSync(join(root, path));
    if (!bytes.includes(0)) tree.set(path, bytes.toString('utf8'));
  }
  return tree;
}

export const isCpp = (path) => /^(src|tests|bench)\/.*\.(h|cpp)$/.test(path);
export const isTest = (path) => /^tests\//.test(path) || /_test\.(cpp|h)$/.test(path);

/// [path, text] of every C++ file of the tree.
export function cppFiles(tree) {
  return [...tree].filter(([path]) => isCpp(path));
}

const kToken = new RegExp(
    [
      String.raw`//(?:\\\n|[^\n])*`,                                // line comment
      String.raw`/\*[\s\S]*?\*/`,                                   // block comment
      String.raw`\b(?:u8|u|U|L)?R"([^\s()\\]{0,16})\([\s\S]*?\)\1"`,  // raw string
      String.raw`"(?:\\[\s\S]|[^"\\\n])*"`,                         // string
      String.raw`(?<![0-9a-fA-F])'(?:\\.[^'\n]*|[^'\\\n])'`,        // character, not 1'000
    ].join('|'),
    'g');

/// C++ text with comments and the insides of literals blanked, every line kept in its place;
/// `#include "..."` lines keep their path.
export function codeOnly(text) {
  return text.replace(kToken, (token, _delimiter, offset) => {
    const lineStart = text.lastIndexOf('\n', offset) + 1;
    if (/^\s*#\s*include\s*$/.test(text.slice(lineStart, offset))) return token;
    const blank = token.replace(/[^\n]/g, ' ');
    return token.startsWith('/') ? blank : `"${blank.slice(2)}"`;
  });
}

/// An offence at a 1-based line.
export const offence = (path, line, reason) => ({ path, line, reason });
