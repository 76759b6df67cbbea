// A Chromium without a profile of its own past, and what stands between it and a server: pages of
// other origins, and a relay that sees every request that reached the server and its answer.
import { createServer as createHttpServer } from 'node:http';
import { createRequire } from 'node:module';
import { createConnection, createServer } from 'node:net';
import { after } from 'node:test';
import { missing, repository } from './harness.mjs';

const kChromium = '/usr/bin/chromium';
const closers = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

export const noChromium = missing(kChromium);

/// Ended when the test file ends. Every name ending in `.test` is this machine.
export async function startChromium() {
  const { chromium } = createRequire(`${repository}deps/`)('playwright-core');
  const browser = await chromium.launch({
    executablePath: kChromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update', '--disable-sync',
           '--host-resolver-rules=MAP *.test 127.0.0.1, MAP localhost 127.0.0.1'],
  });
  closers.push(() => browser.close());
  return browser;
}

const listen = (server) => new Promise((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve(server.address().port));
});

/// Pages of nobody's: any path answers an empty page, `/to?url=` sends elsewhere.
export async function startForeignSite() {
  const site = createHttpServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    response.setHeader('Connection', 'close');
    if (pathname === '/to') {
      response.writeHead(302, { Location: searchParams.get('url') }).end();
    } else {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><body>');
    }
  });
  const port = await listen(site);
  closers.push(() => {
    site.closeAllConnections?.();
    site.close();
  });
  return port;
}

/// Passes bytes to the port `target`, which may change, and back. `seen()` lists what passed:
/// method, path, and the status that came back, in order on each connection.
export async function startRelay(target) {
  const connections = [];
  const self = { target };
  const relay = createServer((near) => {
    const connection = { sent: '', answered: '' };
    connections.push(connection);
    const far = createConnection({ host: '127.0.0.1', port: self.target });
    near.on('data', (bytes) => { connection.sent += bytes.toString('latin1'); });
    far.on('data', (bytes) => { connection.answered += bytes.toString('latin1'); });
    for (const [from, to] of [[near, far], [far, near]]) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  self.port = await listen(relay);
  closers.push(() => relay.close());
  self.seen = () => connections.flatMap(({ sent, answered }) => {
    const statuses = [...answered.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(
        ([, code]) => Number(code));
    return [...sent.matchAll(/^([A-Z]+) (\/\S*) HTTP\/1\.1\r$/gm)].map(
        ([, method, path], index) => ({ method, path, status: statuses[index] }));
  });
  return self;
}
