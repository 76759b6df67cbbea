// node promise.mjs RESULTS PROMISE.md: writes what the crash suites reported into the table between
// the two marks of docs/PROMISE.md. The same results give the same text.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const kBegin = '<!-- written by `make crash` -->';
const kEnd = '<!-- end -->';

/// Every row: a suite's report, and the unit of what it tried.
const kFaults = [
  ['race-duplicates', 'the same id in two processes at once', 'rounds', 'races'],
  ['duplicates-servers', 'the same, in two servers, the bodies written differently or changed',
   'rounds', 'duplicates'],
  ['race-folds', 'the same, while claims are folded into the ledger', 'rounds', 'races'],
  ['race-exchanges', 'the same, while `data/` is exchanged', 'rounds', 'races'],
  ['race-generations', 'two writers of generations while old ones are collected', 'changes',
   'races'],
  ['race-killed', 'killed between the claim and the name', 'kills', 'races'],
  ['kill-random', 'two processes under clients, killed at any moment', 'kills', '../e2e/kills'],
  ['kill-a-POST', 'killed at a system call of a POST', 'kills', 'kill_calls'],
  ['kill-a-POST-with-a-new-column', 'the same, of a POST with a new column', 'kills',
   'kill_calls'],
  ['kill-start', 'the same, of a start that recovers', 'kills', 'kill_calls'],
  ['kill-generation', 'the same, of a generation', 'kills', 'kill_calls'],
  ['power-ext4', 'power cut, ext4', 'states', 'power_cut'],
  ['power-xfs', 'power cut, xfs', 'states', 'power_cut'],
  ['power-recovery', 'power cut, ext4 and xfs, while a recovery is under way', 'states',
   'power_cut'],
  ['power-exchange', 'power cut, ext4 and xfs, while `data/` is exchanged', 'states',
   'power_cut'],
  ['write-back-once', '`EIO` from below ext4, at the first write of a batch\'s file', 'POSTs',
   'write_back'],
  ['write-back-file', 'the same, at every write of batches\' files', 'POSTs', 'write_back'],
  ['write-back-all', 'the same, at every write, the journal\'s too', 'POSTs', 'write_back'],
  ['write-back-before', '`EIO` from below ext4 when the kernel writes back by itself, before fsync',
   'POSTs', 'write_back'],
  ...['fsync-EIO', 'fsync-ENOSPC', 'pwrite64-EIO', 'pwrite64-ENOSPC', 'linkat-EIO',
      'linkat-ENOSPC', 'renameat2-EIO', 'renameat2-ENOSPC', 'renameat-EIO', 'renameat-ENOSPC',
      'openat-EMFILE'].map(
      (key) => [`fault-${key}`, `\`${key.split('-')[0]}\` answers ${key.split('-')[1]}`, 'POSTs',
                'faults']),
  ['fault-full', 'a full disk: data, staging, `failed/`, catalog, generations', 'rounds',
   'pressure'],
  ['fault-reserve', 'a disk filled down to its reserve', 'states', 'pressure'],
  ['fault-generation', 'no room for a generation, though batches land', 'rounds', 'pressure'],
  ['fault-inodes', 'a disk without a free inode', 'rounds', 'pressure'],
  ['fault-small', 'a disk of 4 MiB, filled by batches', 'batches', 'pressure'],
  ['fault-fsize', 'a limit of the size of files', 'POSTs', 'pressure'],
  ['fault-mount', 'another file system mounted on `_tmp/`', 'POSTs', 'pressure'],
  ['fault-EMFILE', 'no descriptor is left', 'POSTs', 'faults'],
  ['fault-slow', 'each fsync takes a fifth of a second', 'POSTs', 'faults'],
  ['fault-slow-many', 'the same, and more bodies at once than memory is given', 'POSTs',
   'pressure'],
  ['nodes-three', 'three nodes under clients: each cut off from Redis and PostgreSQL, paused ' +
   'past the lock\'s life, killed; the services killed', 'faults', '../nodes/three_nodes'],
];
const kMutants = [
  ['power-no-directory-sync', 'no directory is synced', 'power_cut'],
  ['power-no-file-sync', 'no file is synced', 'power_cut'],
  ['power-replay-without-sync', 'a replay is acknowledged without a sync of its own', 'power_cut'],
  ['power-claim-after-rename', 'the claim comes after the name', 'power_cut'],
  ['duplicates-own-claims', 'each server has claims of its own', 'duplicates'],
  ['race-ledger-before-claim', 'the ledger is asked before the claim', 'races'],
  ['race-no-identity-check', 'nobody looks whether `data/` was exchanged', 'races'],
  ['race-sweep-deletes-claimed', 'recovery deletes what was claimed', 'races'],
  ['race-replacing-rename', 'a rename replaces what has the name', 'races'],
  ['race-generations-free-numbers', 'numbers of old generations come free', 'races'],
];

const withCommas = (number) => `${number}`.replace(/\B(?=(\d{3})+$)/g, ',');
const testOf = (file) => (file.startsWith('..') ? `tests/${file.slice(3)}` : `tests/crash/${file}`);

function resultOf(row, unit) {
  if (row === undefined) return 'not run';
  if (row.skipped !== undefined) return `skipped: ${row.skipped}`;
  if (row.mutant !== undefined) return `caught with ${row.caught} of ${row.of} seeds`;
  const also = Object.entries(row.also ?? {}).map(([what, n]) => `${withCommas(n)} ${what}`);
  return [`${withCommas(row.states)} ${unit}`, ...also, `${row.wrong} wrong`].join(', ');
}

/// The table, out of the reports by `suite-key`.
export function tableOf(reports) {
  const skipped = reports.get('power-skipped');
  const reportOf = (key) => reports.get(key) ?? (/^(power|write-back)-/.test(key) ? skipped
                                                                                 : undefined);
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [
    line(['fault', 'test', 'last result']), '|---|---|---|',
    ...kFaults.map(([key, fault, unit, file]) => line(
        [fault, `\`${testOf(file)}.test.mjs\``, resultOf(reportOf(key), unit)])),
    ...kMutants.map(([key, mutant, file]) => line(
        [`mutant: ${mutant}`, `\`${testOf(file)}.test.mjs\``, resultOf(reportOf(key))])),
  ].join('\n');
}

export function readReports(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return new Map(names.map((name) => [
    name.slice(0, -'.json'.length), JSON.parse(readFileSync(join(folder, name), 'utf8')),
  ]));
}

/// What a run must not end well with: a list of sentences. `all`: nothing may be missing either.
export function failuresOf(reports, all) {
  const known = new Set([...kFaults, ...kMutants].map(([key]) => key).concat('power-skipped'));
  const failures = [];
  for (const [key, row] of reports) {
    if (!known.has(key)) failures.push(`${key}: no row of the table is called so`);
    if (row.skipped !== undefined) continue;
    if (row.mutant !== undefined) {
      if (row.caught !== row.of || !(row.of > 0)) {
        failures.push(`${key}: caught with ${row.caught} of ${row.of} seeds`);
      }
    } else {
      if (row.wrong !== 0) failures.push(`${key}: ${row.wrong} wrong`);
      if (!(row.states > 0)) failures.push(`${key}: nothing was tried`);
    }
  }
  const lines = all ? tableOf(reports).split('\n') : [];
  return failures.concat(lines.filter((line) => /\| (not run|skipped: [^|]*) \|$/.test(line)));
}

/// `page` with the table in its place.
export function withTable(page, table) {
  const begin = page.indexOf(kBegin);
  const end = page.indexOf(kEnd);
  if (begin < 0 || end < begin) throw new Error('the page has no place for the table');
  return `${page.slice(0, begin)}${kBegin}\n${table}\n${page.slice(end)}`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , results, page] = process.argv;
  const reports = readReports(results);
  const table = tableOf(reports);
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), table));
  console.log(table);
  for (const failure of failuresOf(reports, process.env.STRATA_REQUIRE_ALL === '1')) {
    console.error(failure);
    process.exitCode = 1;
  }
}
