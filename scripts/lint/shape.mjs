// Length of lines and functions, headers, and notes to do.
import { codeOnly, cppFiles, offence } from './tree.mjs';

const kColumnsMax = 100;
const kFunctionLinesMax = 70;

const isScript = (path) => /^(Makefile$|\.ci\/|scripts\/|tests\/.*\.(mjs|sh)$)/.test(path);

function longLines(path, text) {
  return text.split('\n').flatMap(
      (line, index) => [...line].length > kColumnsMax
          ? [offence(path, index + 1, `${[...line].length} columns; at most ${kColumnsMax}`)]
          : []);
}

function openNotes(path, text) {
  return text.split('\n').flatMap(
      (line, index) => /\b(TODO|FIXME|XXX)\b(?!\(#\d+\))/.test(line)
          ? [offence(path, index + 1, 'a note to do names its issue: TODO(#12)')]
          : []);
}

/// Does a brace after this text (since the last `;`, `{` or `}`) open a function's body?
function opensFunction(head) {
  const declaration = head.replace(/\btemplate\s*<[^>]*>/g, '')
                          .replace(/\boperator\s*[^\s\w(]+/g, 'operator ');
  if (!declaration.includes('(')) return false;
  const isTable = /^[^(]*=[^(]*\(/.test(declaration) && !/\]\s*(\(|\{|mutable|$)/.test(declaration);
  return !isTable && !/^\s*(namespace|extern|class|struct)\b[^(]*:[^:(]/.test(declaration);
}

/// Does a brace after this text open a table inside a function? Rows are data: they don't count.
const opensTable = (head) => /(=|\(|\breturn)\s*$/.test(head);

/// The functions of a file: first and last line, and how many lines between are rows of tables.
export function functions(text) {
  const noDeclaration = /^[ \t]*(#(.*\\\n)*.*|(public|protected|private):)$/gm;
  const code = codeOnly(text).replace(noDeclaration, (match) => match.replace(/[^\n]/g, ' '));
  const found = [];
  let line = 1;
  let depth = 0;
  let headStart = 0;
  let current = null;
  let table = null;
  for (let at = 0; at < code.length; ++at) {
    const character = code[at];
    if (character === '\n') ++line;
    if (character === '{') {
      const head = code.slice(headStart, at);
      if (!current && opensFunction(head)) {
        const headLines = head.trimStart().split('\n').length - 1;
        current = { first: line - headLines, depth, rows: 0 };
      } else if (current && !table && opensTable(head)) {
        table = { first: line, depth };
      }
      ++depth;
    } else if (character === '}') {
      --depth;
      if (table?.depth === depth) {
        current.rows += Math.max(0, line - table.first - 1);
        table = null;
      }
      if (current?.depth === depth) {
        found.push({ first: current.first, last: line, rows: current.rows });
        current = null;
      }
    }
    if (';{}'.includes(character)) headStart = at + 1;
  }
  return found;
}

function longFunctions(path, text) {
  return functions(text).flatMap(({ first, last, rows }) => {
    const lines = last - first + 1 - rows;
    return lines > kFunctionLinesMax
        ? [offence(path, first, `a function of ${lines} lines; at most ${kFunctionLinesMax}`)]
        : [];
  });
}

function headerOffences(path, text, tree) {
  if (path.endsWith('.h')) {
    return /^#pragma once$/m.test(text) ? [] : [offence(path, 1, 'a header needs #pragma once')];
  }
  const own = path.replace(/\.cpp$/, '.h');
  const first = /^\s*#\s*include\s*["<]([^">]+)[">]/m.exec(text)?.[1];
  return !tree.has(own) || `src/${first}` === own || first === own.split('/').at(-1)
      ? []
      : [offence(path, 1, `includes ${own} first, so that the header stands by itself`)];
}

export function lint(tree) {
  const cpp = cppFiles(tree).flatMap(([path, text]) => [
    ...longLines(path, text),
    ...openNotes(path, text),
    ...longFunctions(path, text),
    ...headerOffences(path, text, tree),
  ]);
  const scripts = [...tree].filter(([path]) => isScript(path))
      .flatMap(([path, text]) => longLines(path, text));
  return [...cpp, ...scripts];
}
