// Python packages from PyPI, in a virtual environment of their own below the user's cache.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { output } from './processes.mjs';

const kInstallMilliseconds = 600_000;

/// The environment `name`, made where it does not have what `imports` says; `place` is where one is
/// that has been made by hand. Throws where the packages of `requirements` cannot be had.
export async function pythonEnvironment({ name, place, imports, requirements }) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = place || join(cache, name);
  const python = join(folder, 'bin/python');
  const isWhole = () => output(python, ['-c', imports]).then(() => true, () => false);
  if (!await isWhole()) {
    await output('python3', ['-m', 'venv', folder]);
    await output(python, ['-m', 'pip', 'install', '--quiet', '-r', requirements],
                 { timeout: kInstallMilliseconds });
    await output(python, ['-c', imports]);
  }
  return { folder, python };
}
