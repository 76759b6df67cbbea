// deploy/nginx.conf, as it is but for its ports, before two nodes on one root: what is sent to its
// one address lands, also while one of the nodes is away.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../bench/processes.mjs';
import { missing, ndjson, repository, start, startWith, until } from './harness.mjs';
import { Service } from './services.mjs';

const kNginx = '/usr/sbin/nginx';

class Nginx extends Service {
  deathSignal = 'SIGTERM';  // its own processes end with it
}

test('one address before two nodes', { skip: missing(kNginx) }, async () => {
  const one = await startWith('demo', ['s'], { args: ['--node', 'one'] });
  const two = await start({ data: one.data, args: ['--node', 'two'] });
  const port = await freePort();
  const nginx = new Nginx();
  const { folder } = nginx;
  mkdirSync(join(folder, 'tmp'));
  const site = readFileSync(join(repository, 'deploy/nginx.conf'), 'utf8')
      .replace(':8080', `:${one.port}`).replace(':8081', `:${two.port}`)
      .replace(':8090', `:${port}`);
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, `daemon off; pid ${folder}/pid; error_log ${folder}/errors;
    ${process.getuid() === 0 ? 'user root;' : ''} events {} http { access_log off;
    client_body_temp_path ${folder}/tmp; proxy_temp_path ${folder}/tmp;
    fastcgi_temp_path ${folder}/tmp; uwsgi_temp_path ${folder}/tmp; scgi_temp_path ${folder}/tmp;
    ${site} }`);
  const checked = spawnSync(kNginx, ['-t', '-c', config, '-e', join(folder, 'errors')],
                            { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stderr);
  const base = `http://127.0.0.1:${port}/knowledgebase/demo/strata`;
  const post = async (id) => {
    const headers = { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': id };
    const body = ndjson([{ id, text: 'x'.repeat(200_000) }]);
    try {
      const answer = await fetch(`${base}/ingest/s`, { method: 'POST', headers, body });
      return answer.status;
    } catch {
      return 0;
    }
  };
  await nginx.launch([kNginx, '-c', config, '-e', join(folder, 'errors')],
                     async () => await post('first') === 200);
  const ids = Array.from({ length: 60 }, (_, n) => `b${n}`);
  await Promise.all(ids.map(async (id, n) => {
    if (n === 30) await two.kill();
    await until(async () => await post(id) === 200, id);  // a producer repeats what got no answer
  }));
  const answer = await fetch(`${base}/query`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ sql: 'SELECT id, count(*) FROM raw_extracted.stream_s GROUP BY id' }),
  });
  const { rows } = await answer.json();
  assert.deepEqual(rows.toSorted(), ['first', ...ids].map((id) => [id, 1]).toSorted());
});
