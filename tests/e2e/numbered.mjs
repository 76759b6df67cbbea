// The small files of a stream that are published by number: receiver/, columns/.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/// The newest of `folder`, parsed; nothing where there is none.
export function newestNumbered(folder) {
  const names = readdirSync(folder).sort();
  for (const name of names) assert.match(name, /^\d{6}\.json$/, 'nothing half made is seen');
  return names.length === 0 ? undefined
                            : JSON.parse(readFileSync(join(folder, names.at(-1)), 'utf8'));
}
