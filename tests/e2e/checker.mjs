// What clients were told against what a read shows. Every attempt to land a batch is logged as
// invoke, then ok (200), fail (refused for good: it must not be there) or info (no answer, or one
// that says "try again": it may be there). Rows are compared by the digest of their content.
import { createHash } from 'node:crypto';

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/// The digest of a row, whatever the order of its members; null is no cell.
export function rowDigest(row) {
  const cells = Object.entries(row).filter(([, text]) => text !== null && text !== undefined);
  return sha256(JSON.stringify(cells.sort(([a], [b]) => (a < b ? -1 : 1))));
}

export class History {
  #operations = [];

  invoke(id, rows) {
    const digests = rows.map(rowDigest);
    const operation = { id, digests, digest: sha256(digests.join()), outcome: 'invoke' };
    this.#operations.push(operation);
    return operation;
  }
  ok(operation) { operation.outcome = 'ok'; }
  fail(operation) { operation.outcome = 'fail'; }
  info(operation) { operation.outcome = 'info'; }

  get operations() { return this.#operations; }
  outcomes(outcome) { return this.#operations.filter((one) => one.outcome === outcome); }
}

/// Sends rows as one batch and logs it. Answers what the server said, nothing if it said nothing.
export async function sendLogged(history, server, { kb, stream, id, rows }) {
  const operation = history.invoke(id, rows);
  try {
    const body = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const answer = await server.post(kb, stream, body, { id });
    if (answer.status === 200) history.ok(operation);
    else if (answer.status < 500 && answer.status !== 408) history.fail(operation);
    else history.info(operation);
    return answer;
  } catch {
    history.info(operation);
    return undefined;
  }
}

/// Rows of a view with these columns, as their digests, by batch.
export function batchesOf(names, rows) {
  const seen = new Map();
  for (const cells of rows) {
    const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]));
    const { _batch_id: id, ...own } = row;
    if (!seen.has(id)) seen.set(id, []);
    seen.get(id).push(rowDigest(own));
  }
  return seen;
}

/// The rows the view shows, as their digests, by batch.
export async function readView(server, kb, stream) {
  const answer = await server.query(
      kb, `SELECT * EXCLUDE (filename) FROM raw_extracted.stream_${stream}`,
      { max_rows: 1_000_000, timeout_ms: 60_000 });
  if (answer.status === 409) return new Map();  // nothing has landed yet
  if (answer.status !== 200) throw new Error(answer.text);
  const { columns, rows, truncated } = answer.json;
  if (truncated) throw new Error('the read is cut');
  return batchesOf(columns.map(({ name }) => name), rows);
}

function countsOf(digests) {
  const counts = new Map();
  for (const digest of digests) counts.set(digest, (counts.get(digest) ?? 0) + 1);
  return counts;
}

/// `history` against `seen` (batch id to the digests of its rows). Answers the batch ids:
/// lost        acknowledged, and not a row of it is there
/// torn        some rows of a batch are there and some are not
/// duplicated  a row is there more often than in the batch
/// phantom     rows nobody sent under that id, or sent and was refused
export function check(history, seen) {
  const found = { lost: new Set(), torn: new Set(), duplicated: new Set(), phantom: new Set() };
  const byId = new Map();
  for (const operation of history.operations) {
    if (!byId.has(operation.id)) byId.set(operation.id, []);
    byId.get(operation.id).push(operation);
  }
  for (const [id, operations] of byId) {
    const there = countsOf(seen.get(id) ?? []);
    for (const { digests } of operations.filter(({ outcome }) => outcome === 'ok')) {
      if (digests.length > 0 && !digests.some((digest) => there.has(digest))) found.lost.add(id);
    }
  }
  for (const [id, digests] of seen) {
    const may = (byId.get(id) ?? []).filter(({ outcome }) => outcome !== 'fail');
    const sent = may.map((operation) => countsOf(operation.digests));
    const there = countsOf(digests);
    for (const [digest, count] of there) {
      const most = Math.max(0, ...sent.map((counts) => counts.get(digest) ?? 0));
      if (most === 0) found.phantom.add(id);
      else if (count > most) found.duplicated.add(id);
    }
    for (const counts of sent) {
      const some = [...counts.keys()].some((digest) => there.has(digest));
      const all = [...counts].every(([digest, count]) => (there.get(digest) ?? 0) >= count);
      if (some && !all) found.torn.add(id);
    }
  }
  const list = (set) => [...set].sort();
  return {
    lost: list(found.lost),
    torn: list(found.torn),
    duplicated: list(found.duplicated),
    phantom: list(found.phantom),
  };
}

/// What check() answers when nothing is wrong.
export const kNothingWrong = { lost: [], torn: [], duplicated: [], phantom: [] };
