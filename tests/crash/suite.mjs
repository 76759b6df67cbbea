// node suite.mjs FILE: runs one suite for ctest. Ends as the suite does; with 77, which ctest calls
// skipped, only if all of its tests were skipped and none failed.
import { spawn } from 'node:child_process';

const kAllSkipped = 77;

const child = spawn(process.execPath, ['--test', '--test-reporter=tap', process.argv[2]],
                    { stdio: ['ignore', 'pipe', 'inherit'] });
let text = '';
child.stdout.setEncoding('utf8').on('data', (part) => {
  text += part;
  process.stdout.write(part);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal));
child.on('close', (code) => {
  const total = (what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(text)?.[1]);
  const skipped = total('skipped') > 0 && total('skipped') === total('tests');
  process.exitCode = code === 0 && skipped ? kAllSkipped : code ?? 1;
});
