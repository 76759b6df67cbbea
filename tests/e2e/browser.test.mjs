// What a page of another origin can do to a Strata server on the machine of whoever reads it:
// nothing. In a real browser, because what it sends by itself is what counts.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { noChromium, startChromium, startForeignSite, startRelay } from './browser.mjs';
import { startWith, until } from './harness.mjs';

const kIngest = '/knowledgebase/demo/strata/ingest/weather';
const kSecret = 'only-the-owner-reads-this';
const kSql = 'SELECT day FROM raw_extracted.stream_weather';

let server;
let relay;
let browser;
let foreignPort;
before(async () => {
  if (noChromium) return;
  server = await startWith('demo', ['weather']);
  await server.land('demo', 'weather', [{ day: kSecret }], 'own');
  relay = await startRelay(server.port);
  foreignPort = await startForeignSite();
  browser = await startChromium();
});

/// Each runs in a page of another origin and does its worst with `url`; what it can read of the
/// answer it returns.
const kWrites = {
  'fetch, text/plain': (url) => fetch(url, { method: 'POST', mode: 'no-cors', body: '{"a":"1"}' }),
  'fetch, no type': (url) => fetch(url, {
    method: 'POST', mode: 'no-cors', body: new Blob(['{"a":"1"}\n']),
  }),
  'fetch, bytes': (url) => fetch(url, {
    method: 'POST', mode: 'no-cors', body: new TextEncoder().encode('{"a":"1"}\n'),
  }),
  'fetch, no referrer': (url) => fetch(url, {
    method: 'POST', mode: 'no-cors', referrerPolicy: 'no-referrer', body: new Blob(['{"a":"1"}']),
  }),
  'fetch, keepalive': (url) => fetch(url, {
    method: 'POST', mode: 'no-cors', keepalive: true, body: new Blob(['{"a":"1"}']),
  }),
  'fetch, the right type': (url) => fetch(url, {
    method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: '{"a":"1"}\n',
  }),
  'fetch, cors without type': (url) => fetch(url, {
    method: 'POST', body: new Blob(['{"a":"1"}\n']),
  }).then((answer) => answer.text()),
  'fetch, PUT': (url) => fetch(url, { method: 'PUT', body: '{"a":"1"}' }),
  'XMLHttpRequest': (url) => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('POST', url);
    request.onloadend = () => resolve(request.responseText);
    request.send(new Blob(['{"a":"1"}\n']));
  }),
  'beacon, text': (url) => { navigator.sendBeacon(url, '{"a":"1"}'); },
  'beacon, no type': (url) => { navigator.sendBeacon(url, new Blob(['{"a":"1"}\n'])); },
  'beacon, the right type': (url) => {
    navigator.sendBeacon(url, new Blob(['{"a":"1"}\n'], { type: 'application/x-ndjson' }));
  },
  ...Object.fromEntries(
      ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded'].map((type) => [
        `form, ${type}`, { enctype: type },
      ])),
  'ping': (url) => {
    const link = document.createElement('a');
    link.href = '#there';
    link.ping = url;
    document.body.append(link);
    link.click();
  },
};

function submitForm([url, enctype]) {
  const frame = document.createElement('iframe');
  frame.name = `sink-${document.forms.length}`;
  const form = document.createElement('form');
  Object.assign(form, { action: url, method: 'POST', enctype, target: frame.name });
  const field = document.createElement('input');
  // As text/plain this is one NDJSON record: {"a":"=1"}
  Object.assign(field, { name: '{"a":"', value: '1"}' });
  form.append(field);
  document.body.append(frame, form);
  form.submit();
}

const element = (name, attribute) => [([url, tag, key]) => new Promise((resolve) => {
  const made = document.createElement(tag);
  made[key] = url;
  if (tag === 'link') made.rel = 'stylesheet';
  made.onload = made.onerror = () => {
    let text = '';
    try {
      text = made.contentDocument.body.innerText;
    } catch {
      // Not for this page to see.
    }
    resolve(text);
  };
  document.body.append(made);
}), name, attribute];

const kReads = {
  'fetch': (url) => fetch(url).then((answer) => answer.text()),
  'fetch, no-cors': (url) => fetch(url, { mode: 'no-cors' }).then((answer) => answer.text()),
  'fetch, no referrer': (url) => fetch(url, { mode: 'no-cors', referrerPolicy: 'no-referrer' })
      .then((answer) => answer.text()),
  'XMLHttpRequest': (url) => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('GET', url);
    request.onloadend = () => resolve(request.responseText);
    request.send();
  }),
  'img': element('img', 'src'),
  'script': element('script', 'src'),
  'stylesheet': element('link', 'href'),
  'iframe': element('iframe', 'src'),
  'object': element('object', 'data'),
  'module': (url) => import(url).then((made) => JSON.stringify(made)),
  'EventSource': (url) => new Promise((resolve) => {
    const source = new EventSource(url);
    source.onmessage = (event) => resolve(event.data);
    source.onerror = () => {
      source.close();
      resolve('');
    };
  }),
  'WebSocket': (url) => new Promise((resolve) => {
    const socket = new WebSocket(url.replace('http:', 'ws:'));
    socket.onmessage = (event) => resolve(event.data);
    socket.onclose = () => resolve('');
  }),
};
/// These leave the page, so each gets one of its own.
const kNavigations = {
  'location': (url) => { location.href = url; },
  'a redirect of its own': (url) => { location.href = `/to?url=${encodeURIComponent(url)}`; },
  'meta refresh': (url) => {
    const meta = document.createElement('meta');
    meta.httpEquiv = 'refresh';
    meta.content = `0;url=${url}`;
    document.head.append(meta);
  },
  'a link without referrer': (url) => {
    const link = document.createElement('a');
    Object.assign(link, { href: url, rel: 'noreferrer' });
    document.body.append(link);
    link.click();
  },
};

/// Lets `page` do it; answers what the page could read.
async function attempt(page, act, url) {
  try {
    if (act.enctype !== undefined) return await page.evaluate(submitForm, [url, act.enctype]);
    if (Array.isArray(act)) return await page.evaluate(act[0], [url, ...act.slice(1)]);
    return await page.evaluate(act, url);
  } catch (error) {
    return String(error);  // the browser's own refusal, or the page is gone
  }
}

/// Other port, other name of the same machine, other site.
const origins = () => ['127.0.0.1', 'localhost', 'evil.test'].map(
    (host) => `http://${host}:${foreignPort}`);

let attempts = 0;
/// Tries `acts` from every origin at `path`: each has to reach the server and be refused there.
async function allRefused(acts, path, { leaves = false } = {}) {
  for (const origin of origins()) {
    const context = await browser.newContext();
    const open = async () => {
      const page = await context.newPage();
      await page.goto(`${origin}/`);
      return page;
    };
    let page = await open();
    for (const [name, act] of Object.entries(acts)) {
      const mark = `attempt-${++attempts}-`;
      const read = await attempt(page, act, `http://127.0.0.1:${relay.port}${path(mark)}`);
      const mine = () => relay.seen().filter((one) => one.path.includes(mark));
      await until(() => mine().some(({ status }) => status !== undefined), `${name} at the server`);
      for (const { method, status } of mine()) {
        assert.equal(status, 403, `${name} from ${origin}: ${method} got ${status}`);
      }
      assert.ok(!String(read).includes(kSecret), `${name} from ${origin} read: ${read}`);
      if (leaves) {
        const shown = await until(() => page.content().catch(() => ''), `${name} to end somewhere`);
        assert.ok(!shown.includes(kSecret), `${name} from ${origin} shows it`);
        page = await open();
      }
    }
    await context.close();
  }
}

const queryPath = (mark) =>
  `/knowledgebase/demo/strata/query?sql=${encodeURIComponent(`${kSql} -- ${mark}`)}`;

async function nothingChanged() {
  assert.deepEqual(await server.rows('demo', kSql), [[kSecret]]);
  assert.deepEqual(await server.columns('demo', 'weather'), ['day', 'filename', '_batch_id']);
  const { files, rejected } = await server.receiver('demo', 'weather');
  assert.deepEqual({ files, rejected }, { files: 1, rejected: 0 });
}

const kSkip = { skip: noChromium };
test('the address bar and a page of the server itself may do all', kSkip, async () => {
  const page = await browser.newPage();
  const typed = await page.goto(`http://127.0.0.1:${relay.port}${queryPath('typed')}`);
  assert.equal(typed.status(), 200);
  assert.ok((await page.content()).includes(kSecret), 'the reads below would find it');
  const rows = await page.evaluate(async (sql) => {
    const answer = await fetch('/knowledgebase/demo/strata/query', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ sql }),
    });
    return (await answer.json()).rows;
  }, kSql);
  assert.deepEqual(rows, [[kSecret]]);
  await page.close();
});

test('a page of another origin cannot POST a batch', kSkip, async () => {
  await allRefused(kWrites, (mark) => `${kIngest}?${mark}`);
  await nothingChanged();
});

test('nor make a knowledgebase or a receiver', kSkip, async () => {
  const forms = Object.fromEntries(
      Object.entries(kWrites).filter(([name]) => /^form|no type/.test(name)));
  await allRefused(forms, (mark) => `/knowledgebase?${mark}`);
  await allRefused(forms, (mark) => `/knowledgebase/demo/strata/receivers?${mark}`);
  const { json } = await server.get('/knowledgebase');
  assert.deepEqual(json.knowledgebase.map(({ id }) => id), ['demo']);
});

test('a page of another origin can neither query nor read', kSkip, async () => {
  await allRefused(kReads, queryPath);
  await nothingChanged();
});

test('nor send the reader there', kSkip, async () => {
  await allRefused(kNavigations, queryPath, { leaves: true });
});

test('a name that was made to point here is 421, whatever it asks', kSkip, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const base = `http://rebind.test:${relay.port}`;
  // The page comes from the attacker's server; then its name leads to ours.
  relay.target = foreignPort;
  await page.goto(`${base}/lure`);
  relay.target = server.port;
  const requests = [
    [queryPath('rebound'), {}],
    ['/knowledgebase', {}],
    ['/metrics', {}],
    ['/knowledgebase/demo/strata/query', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ sql: kSql }),
    }],
    [kIngest, {
      method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: '{"a":"1"}\n',
    }],
  ];
  for (const [path, options] of requests) {
    const [status, text] = await page.evaluate(async ([url, init]) => {
      const answer = await fetch(url, init);
      return [answer.status, await answer.text()];
    }, [path, options]);
    assert.equal(status, 421, `${path}: ${text}`);
    assert.equal(JSON.parse(text).code, 'unknown_host');
  }
  const typed = await page.goto(`${base}${queryPath('rebound, typed')}`);
  assert.equal(typed.status(), 421);
  await context.close();
  await nothingChanged();
});
