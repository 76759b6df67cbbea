// Tokens end to end: the first one made without a server, the bind rule, revocation felt by another
// process, and that no secret gets into a log or a file.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshFolder, run, start } from './harness.mjs';

const kToken = /^strata_([0-9a-f]{12})_([0-9a-f]{64})\n$/;
const kRequired = ['--auth', 'required'];
/// The promise is one second; the look is every half one.
const kFeltWithinMilliseconds = 1000;

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

/// `strata token create` on the root itself.
async function makeOffline(data, ...args) {
  const made = await run(['token', 'create', '--data', data, ...args]);
  assert.equal(made.code, 0, made.log);
  assert.match(made.out, kToken);
  return made.out.trim();
}

const idOf = (token) => token.split('_')[1];

let data;
let admin;
let one;
let two;
before(async () => {
  data = freshFolder();
  admin = await makeOffline(data, '--scope', 'admin', '--expires', '90d');
  one = await start({ data, args: kRequired });
  two = await start({ data, args: kRequired });
  for (const kb of ['own', 'foreign']) {
    const made = await one.request('POST', '/knowledgebase', {
      headers: { ...bearer(admin), 'Content-Type': 'application/json' },
      body: JSON.stringify({ id: kb }),
    });
    assert.equal(made.status, 201, made.text);
    const stream = await one.request('POST', `/knowledgebase/${kb}/strata/receivers`, {
      headers: { ...bearer(admin), 'Content-Type': 'application/json' },
      body: JSON.stringify({ stream: 'events' }),
    });
    assert.equal(stream.status, 201, stream.text);
  }
});

async function createOver(server, body, token = admin) {
  return server.request('POST', '/tokens', {
    headers: { ...bearer(token), 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

test('the first token is made on a folder that is no root yet, and works', async () => {
  const whoami = await one.get('/whoami', bearer(admin));
  assert.equal(whoami.status, 200, whoami.text);
  const { expires_at: expiresAt, ...rest } = whoami.json;
  assert.deepEqual(rest, { auth: 'required', token: idOf(admin), name: null, scopes: ['admin'] });
  const days = (Date.parse(expiresAt) - Date.now()) / 86_400_000;
  assert.ok(days > 89.9 && days <= 90, expiresAt);
});

test('without a valid token all is 401 with one body, but for what is open', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    assert.equal((await one.get(path)).status, 200, path);
  }
  const wrong = `${admin.slice(0, -1)}${admin.endsWith('0') ? '1' : '0'}`;
  const bodies = new Set();
  for (const headers of [{}, bearer(wrong), bearer('strata_0'), bearer(`strata_${'0'.repeat(12)}_` +
      '0'.repeat(64)), { Authorization: 'Basic eDp5' }]) {
    for (const path of ['/whoami', '/tokens', '/knowledgebase', '/knowledgebase/own',
                        '/knowledgebase/none/strata/receivers']) {
      const answer = await one.get(path, headers);
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
      assert.equal(answer.json.code, 'unauthorized');
      bodies.add(JSON.stringify({ ...answer.json, request_id: '' }));
    }
  }
  assert.equal(bodies.size, 1);
});

test('the head decides: a body is not waited for', async () => {
  const socket = one.connect('POST /knowledgebase/own/strata/ingest/events HTTP/1.1\r\n' +
      'Host: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n' +
      'Expect: 100-continue\r\n\r\n');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await new Promise((resolve) => { socket.on('close', resolve); });
  assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 401 /);
});

test('a token is listed without its secret, and revoked for every process within a second',
     async () => {
  const made = await createOver(one, {
    scopes: ['ingest:own/events'], expires: '1h', name: 'probe',
  });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers['cache-control'], 'no-store');
  const { token, id } = made.json;
  assert.match(`${token}\n`, kToken);
  const send = (server) => server.post('own', 'events', '{"a":1}\n', {
    id: 'b-1', headers: bearer(token),
  });
  assert.equal((await send(two)).status, 200, 'the other process knows it at once');

  const list = await two.get('/tokens', bearer(admin));
  assert.deepEqual(list.json.tokens.find((entry) => entry.id === id), {
    id, name: 'probe', scopes: ['ingest:own/events'], created_at: made.json.created_at,
    expires_at: made.json.expires_at,
  });
  const [, , secret] = token.split('_');
  assert.ok(!list.text.includes(secret));

  const revoked = await one.request('DELETE', `/tokens/${id}`, { headers: bearer(admin) });
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal((await send(one)).status, 401, 'here at once');
  await sleep(kFeltWithinMilliseconds);
  assert.equal((await send(two)).status, 401, 'there within a second');
  const again = await one.request('DELETE', `/tokens/${id}`, { headers: bearer(admin) });
  assert.equal(again.status, 404, again.text);
});

test('scopes hold: own stream, own kb, nothing else', async () => {
  const ingest = (await createOver(one, { scopes: ['ingest:own/events'] })).json.token;
  const read = (await createOver(one, { scopes: ['read:own'] })).json.token;
  const at = async (token, path) => (await one.get(path, bearer(token))).status;
  assert.equal(await at(ingest, '/knowledgebase/own/strata/receivers/events'), 200);
  assert.equal(await at(ingest, '/knowledgebase/own/strata/query?sql=SELECT%201'), 403);
  assert.equal(await at(read, '/knowledgebase/own/strata/query?sql=SELECT%201'), 200);
  assert.equal(await at(read, '/knowledgebase/foreign/strata/query?sql=SELECT%201'), 404);
  assert.equal(await at(read, '/tokens'), 403);
  const seen = await one.get('/knowledgebase', bearer(read));
  assert.deepEqual(seen.json.knowledgebase.map(({ id }) => id), ['own']);
  const bodies = await Promise.all(['foreign', 'missing'].map(async (kb) => {
    const answer = await one.get(`/knowledgebase/${kb}`, bearer(read));
    return JSON.stringify({ ...answer.json, request_id: '' }).replaceAll(kb, 'KB');
  }));
  assert.equal(bodies[0], bodies[1]);
});

test('bodies of /tokens that say something else are refused', async () => {
  for (const body of [{}, { scopes: [] }, { scopes: 'admin' }, { scopes: ['root'] },
                      { scopes: ['read:*'] }, { scopes: ['admin'], expires: '1y' },
                      { scopes: ['admin'], expires: 90 }, { scopes: ['admin'], ttl: '1h' },
                      { scopes: ['admin'], name: 'a\nb' }]) {
    const answer = await createOver(one, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
});

test('the commands: over HTTP with a token file, and on the root beside a running server',
     async () => {
  const tokenFile = join(freshFolder(), 'token');
  writeFileSync(tokenFile, `${admin}\n`);
  const over = ['--url', one.url, '--token-file', tokenFile];
  const made = await run(['token', 'create', '--scope', 'read:own', '--scope', 'model:foreign',
                          '--expires', '30m', ...over]);
  assert.equal(made.code, 0, made.log);
  assert.match(made.out, kToken);
  assert.match(made.log, /valid until \d{4}-\d\d-\d\dT.*shown this once/);
  const token = made.out.trim();
  const whoami = await two.get('/whoami', bearer(token));
  assert.deepEqual(whoami.json.scopes, ['read:own', 'model:foreign']);

  const listed = await run(['token', 'list', '--data', data]);
  assert.match(listed.out, new RegExp(`${idOf(token)} .*read:own, model:foreign`));
  const revoked = await run(['token', 'revoke', idOf(token), '--data', data]);
  assert.deepEqual([revoked.code, revoked.out], [0, `revoked token ${idOf(token)}\n`]);
  await sleep(kFeltWithinMilliseconds);
  assert.equal((await two.get('/whoami', bearer(token))).status, 401);

  const refused = await run(['kb', 'list', '--url', one.url], { STRATA_TOKEN: token });
  assert.equal(refused.code, 1);
  assert.match(refused.log, /needs a token that is valid now/);
  const nowhere = await run(['token', 'list', '--data', join(data, 'nowhere')]);
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.log, /no Strata root there/);
});

test('another address than this machine\'s is refused without tokens, and says what to do',
     async () => {
  const serve = (folder, ...args) => run(['serve', '--listen', '0.0.0.0:0', '--data', folder,
                                          ...args]);
  const bare = freshFolder();
  const open = await serve(bare);
  assert.equal(open.code, 2);
  assert.match(open.log, /needs tokens.*strata token create --data \S+ --scope admin/);
  assert.deepEqual(readdirSync(bare), [], 'nothing was made');
  const none = await serve(bare, ...kRequired);
  assert.equal(none.code, 1);
  assert.match(none.log, /no valid token yet.*strata token create --data/);
  assert.equal((await serve(data)).code, 2, 'tokens that nobody asks for do not count');
  const half = await run(['serve', '--data', bare, '--metrics-auth']);
  assert.equal(half.code, 2);
  assert.match(half.log, /--metrics-auth goes with --auth required/);
});

test('with --auth required and a valid token the rule lets it through', async () => {
  // No machine has this address (RFC 5737), so what is left to refuse is the system's bind.
  const ended = await run(['serve', '--listen', '192.0.2.1:0', '--data', data, ...kRequired]);
  assert.equal(ended.code, 1);
  assert.doesNotMatch(ended.log, /token/);
  assert.match(ended.log, /192\.0\.2\.1/);
});

test('--metrics-auth closes what is open otherwise', async () => {
  const server = await start({ data, args: [...kRequired, '--metrics-auth'] });
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    assert.equal((await server.get(path)).status, 401, path);
    assert.equal((await server.get(path, bearer(admin))).status, 200, path);
  }
  await server.stop();
});

test('off: no token is asked for, and a wrong one is not looked at', async () => {
  const server = await start();
  const whoami = await server.get('/whoami', bearer('strata_x'));
  assert.deepEqual(whoami.json, { auth: 'off', token: null, name: null, scopes: ['admin'],
                                  expires_at: null });
  await server.stop();
});

test('no secret is in a log or in a file', () => {
  const secret = admin.split('_')[2];
  assert.ok(!one.log.includes(secret) && !two.log.includes(secret));
  const found = execFileSync('sh', ['-c', 'grep -rlF "$1" "$2" || true', 'sh', secret, data]);
  assert.equal(found.toString(), '');
  const kept = JSON.parse(readFileSync(join(data, 'tokens', `${idOf(admin)}.json`), 'utf8'));
  assert.deepEqual(Object.keys(kept), ['id', 'name', 'scopes', 'created_at', 'expires_at',
                                       'secret_sha256']);
});

test('a token revoked while its body is on the way lands nothing', async () => {
  const made = await createOver(one, { scopes: ['ingest:own/events'] });
  assert.equal(made.status, 201, made.text);
  const body = '{"slow":"1"}\n{"slow":"2"}\n';
  const sent = request({
    host: '127.0.0.1', port: one.port, method: 'POST',
    path: '/knowledgebase/own/strata/ingest/events',
    headers: { ...bearer(made.json.token), 'Content-Type': 'application/x-ndjson',
               'Idempotency-Key': 'slow-1', 'Content-Length': body.length },
  });
  const answered = new Promise((resolve, reject) => {
    sent.on('error', reject).on('response', (message) => {
      message.resume();
      message.on('end', () => resolve(message.statusCode));
    });
  });
  sent.write(body.slice(0, 10));
  const gone = await one.request('DELETE', `/tokens/${idOf(made.json.token)}`,
                                 { headers: bearer(admin) });
  assert.ok([200, 204].includes(gone.status), gone.text);
  await sleep(kFeltWithinMilliseconds);
  sent.end(body.slice(10));
  assert.equal(await answered, 401);
  const batch = await one.get('/knowledgebase/own/strata/receivers/events/batches/slow-1',
                              bearer(admin));
  assert.equal(batch.status, 404, batch.text);
});
