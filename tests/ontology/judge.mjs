// node tests/ontology/judge.mjs FOLDER [--assert] [--open] [--faults] [--reveal]
// FOLDER holds a produced model a stream, STREAM.json (README.md has the form). Prints the shares
// of each open stream, the totals of both halves and of all.
//   --assert  exit 1 below the marks, over all streams that are judged
//   --open    the open streams only
//   --faults  what is wrong in each stream that is printed, in words
//   --reveal  the hidden streams one by one too: once, at the end
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { streams } from './generate.mjs';
import { isEnough, kMarks, looksOf, scoreStream, shares, sum } from './score.mjs';

const kNames = ['precision', 'recall', 'f1', 'type', 'role', 'links'];
const line = (name, values) => [name.padEnd(24), ...values.map((one) => one.padStart(10))].join('');
const lineOf = (name, scores) => {
  const found = shares(sum(scores));
  return line(name, kNames.map((each) => found[each].toFixed(3)));
};

function producedFor(folder, name) {
  const path = join(folder, `${name}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/// Judges the models in `folder`. Answers {lines, enough}; options as on the command line.
export function judge(folder, options = {}) {
  const judged = streams().filter(({ open }) => open || !options.open).map(
      ({ name, open, model, rows }) => (
        { name, open, score: scoreStream(model, producedFor(folder, name), looksOf(rows())) }));
  const lines = [line('stream', kNames)];
  for (const { name, open, score } of judged) {
    if (!open && !options.reveal) continue;
    lines.push(lineOf(name, [score]));
    if (options.faults) lines.push(...score.faults.map((fault) => `    ${fault}`));
  }
  const scoresOf = (which) => judged.filter(which).map(({ score }) => score);
  const halves = options.open ? [] : [['hidden', ({ open }) => !open], ['all', () => true]];
  for (const [name, which] of [['open', ({ open }) => open], ...halves]) {
    lines.push(lineOf(`total ${name}`, scoresOf(which)));
  }
  const enough = isEnough(shares(sum(scoresOf(() => true))));
  lines.push(`${enough ? 'enough' : 'not enough'}: f1 ${kMarks.f1}, type ${kMarks.type}, ` +
    `role ${kMarks.role}`);
  return { lines, enough };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const flag = { type: 'boolean' };
  const { values, positionals: [folder] } = parseArgs({ allowPositionals: true, options: {
    assert: flag, open: flag, faults: flag, reveal: flag } });
  if (!folder || !existsSync(folder)) throw new Error('usage: judge.mjs FOLDER: it must be there');
  const { lines, enough } = judge(folder, values);
  console.log(lines.join('\n'));
  process.exitCode = values.assert && !enough ? 1 : 0;
}
