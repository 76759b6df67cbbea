// node scripts/lint/run.mjs [ROOT]: every lint over the tree; one line per offence; exit 1 if any.
import * as calls from './calls.mjs';
import * as includes from './includes.mjs';
import * as portable from './portable.mjs';
import * as shape from './shape.mjs';
import { readTree } from './tree.mjs';

const tree = readTree(process.argv[2] ?? process.cwd());
const offences = [includes, calls, shape, portable].flatMap((module) => module.lint(tree));
for (const { path, line, reason } of offences) console.log(`${path}:${line}: ${reason}`);
console.log(`lint: ${tree.size} files, ${offences.length} offences`);
process.exitCode = offences.length > 0 ? 1 : 0;
