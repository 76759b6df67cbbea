// Disks of their own for a server: a file system in memory of a chosen size, which nobody else sees
// and which ends with the server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { freshFolder, program, start } from '../e2e/harness.mjs';
import { skipFor } from './rig.mjs';

const kObstacle = spawnSync('unshare', ['--mount', 'true']).status === 0
    ? '' : 'no mount namespaces: not root';

/// Why tests that mount have to be skipped, for node's `skip`.
export const withoutMounts = (what, key) => skipFor(kObstacle, what, { suite: 'fault', key });

/// A server for which a fresh file system is mounted on a folder, its root or one below, with
/// tmpfs's `options`.
export function startWithMount({ data = freshFolder(), on = data, options, ...more }) {
  const wrapper = join(freshFolder(), 'strata');
  writeFileSync(wrapper, [
    '#!/bin/sh', 'export MOUNT_POINT PROGRAM', `MOUNT_POINT='${on}' PROGRAM='${program}'`,
    'exec unshare --mount --propagation private sh -c \'mount -t tmpfs -o ' +
        `${options} tmpfs "$MOUNT_POINT" && exec "$PROGRAM" "$@"' strata "$@"`, '',
  ].join('\n'), { mode: 0o755 });
  return start({ data, program: wrapper, ...more });
}

/// Where a folder of such a server is for others.
export const seenFromOutside = (server, path) => `/proc/${server.pid}/root${path}`;

/// Fills the disk of `file` with it, to the last block.
export function fill(file) {
  const descriptor = openSync(file, 'w');
  try {
    for (const size of [1 << 20, 1 << 12]) {
      try {
        while (true) writeSync(descriptor, Buffer.alloc(size));
      } catch (error) {
        assert.equal(error.code, 'ENOSPC');
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
