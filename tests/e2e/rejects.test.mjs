// A refused batch is kept with its reasons until somebody mends it: listed, read back as it was
// sent, sent again under the same id, deleted. Its body is anybody's text and never a page.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { freshFolder, ndjson, run, start, startWith } from './harness.mjs';

let server;
before(async () => { server = await startWith('demo', ['events', 'empty', 'shared', 'pages']); });

const kUuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const pathOf = (stream, rest = '') =>
    `/knowledgebase/demo/strata/receivers/${stream}/rejects${rest}`;
const get = (stream, rest, at = server) => at.get(pathOf(stream, rest));
const list = async (stream, rest = '', at = server) => {
  const answer = await get(stream, rest, at);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const one = async (stream, id, at = server) => {
  const answer = await get(stream, `/${id}`, at);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
async function refuse(stream, body, id, at = server) {
  const answer = await at.post('demo', stream, body, { id });
  assert.equal(answer.status, 400, answer.text);
  return answer.json;
}
const strata = (args, at = server) => run([...args, '--url', at.url]);

test('a stream without rejects has an empty list', async () => {
  assert.deepEqual(await list('empty'),
                   { rejects: [], next: null, count: 0, bytes: 0, dropped: 0 });
});

test('what was refused, why, and what became of it', async () => {
  const body = '{"a":1}\n{"a":\n{"a":2}\nnonsense\n';
  const refused = await refuse('events', body, 'night-7');
  const whole = await one('events', 'night-7');
  assert.equal(whole.batch_id, 'night-7');
  assert.equal(whole.state, 'open');
  assert.equal(whole.code, 'bad_batch');
  assert.equal(whole.bytes, body.length);
  assert.equal(whole.error_count, 2);
  assert.deepEqual(whole.errors, refused.errors);
  assert.deepEqual(whole.errors.map(({ line }) => line), [2, 4]);
  assert.equal(whole.detail, refused.detail);
  assert.ok(!Number.isNaN(Date.parse(whole.rejected_at)));

  const [row] = (await list('events')).rejects;
  assert.deepEqual(row, {
    batch_id: 'night-7', state: 'open', rejected_at: whole.rejected_at, bytes: body.length,
    code: 'bad_batch', error_count: 2, ...refused.errors[0],
  });
  assert.equal((await server.receiver('demo', 'events')).rejected, 1);

  await server.land('demo', 'events', '{"a":1}\n{"a":2}\n', 'night-7');
  assert.equal((await one('events', 'night-7')).state, 'fixed');
  await server.restart();
  assert.equal((await one('events', 'night-7')).state, 'fixed');
  assert.deepEqual((await one('events', 'night-7')).errors, refused.errors);
});

test('its body comes as it was sent, as a file and never as a page', async () => {
  const body = '<script>alert(1)</script>\n"\u{1f321}"\r\n';
  await refuse('events', body, 'evil.html');
  const answer = await get('events', '/evil.html?body=1');
  assert.equal(answer.status, 200);
  assert.equal(answer.text, body);
  assert.equal(answer.headers['content-type'], 'application/x-ndjson');
  assert.equal(answer.headers['content-disposition'], 'attachment; filename="evil.html.ndjson"');
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal((await get('events', '/evil.html')).headers['content-type'], 'application/json');
});

test('a large body comes whole', async () => {
  const body = `${ndjson([{ a: 'x'.repeat(900_000) }])}{`;
  await refuse('events', body, 'large');
  assert.equal((await get('events', '/large?body=1')).text, body);
});

test('a batch without an id, or with an illegal one, is kept under an id of its own', async () => {
  await server.createReceiver('demo', 'nameless');
  await refuse('nameless', 'x', undefined);
  await refuse('nameless', '{"a":1}\n', 'order 66');
  const { rejects } = await list('nameless');
  assert.deepEqual(rejects.map(({ code }) => code), ['bad_id', 'bad_batch']);
  for (const { batch_id: id } of rejects) assert.match(id, kUuidV7);
  assert.ok(rejects[0].reason.includes('order-66'), rejects[0].reason);
  // Sent again under the id it was given, it lands, and is fixed.
  const id = rejects[0].batch_id;
  const { code, out } = await strata(['rejects', 'resend', 'demo', 'nameless', id]);
  assert.deepEqual([code, out], [0, `1 row landed as batch ${id}\n`]);
  assert.deepEqual((await list('nameless')).rejects.map(({ state }) => state), ['fixed', 'open']);
});

test('they are paged from the newest', async () => {
  const ids = ['p1', 'p2', 'p3', 'p4', 'p5'];
  for (const id of ids) await refuse('pages', 'x', id);
  const seen = [];
  let next = '';
  do {
    const page = await list('pages', `?limit=2${next}`);
    assert.ok(page.rejects.length <= 2);
    seen.push(...page.rejects.map(({ batch_id: id }) => id));
    next = page.next === null ? null : `&before=${page.next}`;
  } while (next !== null);
  assert.deepEqual(seen, ids.toReversed());
  for (const wrong of ['?limit=0', '?limit=501', '?limit=x', '?before=%2F']) {
    assert.equal((await get('pages', wrong)).status, 400, wrong);
  }
  assert.equal((await get('pages', '?before=nobody')).status, 404);
});

test('a deleted one is gone, body and reasons', async () => {
  await refuse('events', 'x', 'to-delete');
  const remove = () => server.request('DELETE', pathOf('events', '/to-delete'));
  assert.deepEqual((await remove()).json, { batch_id: 'to-delete', deleted: true });
  assert.equal((await remove()).status, 404);
  for (const rest of ['/to-delete', '/to-delete?body=1', '/never-was', '/..%2Fids']) {
    const answer = await get('events', rest);
    assert.equal(answer.status, 404, rest);
    assert.equal(answer.json.code, 'not_found');
  }
  const kept = readdirSync(join(server.streamFolder('demo', 'events'), 'failed'));
  assert.deepEqual(kept.filter((name) => name.startsWith('to-delete')), []);
});

test('two processes see each other\'s', async () => {
  const other = await start({ data: server.data });
  await refuse('shared', 'x', 'of-one');
  await refuse('shared', 'x', 'of-two', other);
  for (const at of [server, other]) {
    const { rejects, count } = await list('shared', '', at);
    assert.equal(count, 2);
    assert.deepEqual(rejects.map(({ batch_id: id }) => id), ['of-two', 'of-one']);
  }
  await other.land('demo', 'shared', '{"a":1}\n', 'of-one');
  assert.equal((await one('shared', 'of-one')).state, 'fixed');
  assert.equal((await other.request('DELETE', pathOf('shared', '/of-one'))).status, 200);
  assert.equal((await get('shared', '/of-one')).status, 404);
  await other.stop();
});

test('from the command line: list, show, resend the mended file', async () => {
  await server.createReceiver('demo', 'mended');
  await refuse('mended', '{"a":1}\n{"a":\n', 'lot-1');
  const listed = await strata(['rejects', 'list', 'demo', 'mended']);
  assert.equal(listed.code, 0, listed.log);
  assert.match(listed.out, /lot-1 .*open/);
  const shown = await strata(['rejects', 'show', 'demo', 'mended', 'lot-1']);
  assert.match(shown.out, /^line 2, column a: /m);

  const again = await strata(['rejects', 'resend', 'demo', 'mended', 'lot-1']);
  assert.equal(again.code, 1);
  assert.match(again.log, /line 2/);
  const file = join(freshFolder(), 'mended.ndjson');
  writeFileSync(file, '{"a":1}\n{"a":2}\n');
  const resent = await strata(['rejects', 'resend', 'demo', 'mended', 'lot-1', file]);
  assert.deepEqual([resent.code, resent.out], [0, '2 rows landed as batch lot-1\n']);
  const twice = await strata(['rejects', 'resend', 'demo', 'mended', 'lot-1', file]);
  assert.deepEqual([twice.code, twice.out],
                   [0, 'nothing to do: batch lot-1 had landed (2 rows)\n']);
  assert.equal((await one('mended', 'lot-1')).state, 'fixed');
  const rows = await server.rows('demo', 'SELECT count(*) FROM raw_extracted.stream_mended');
  assert.deepEqual(rows, [[2]]);
});
