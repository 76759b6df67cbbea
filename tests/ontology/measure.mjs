// node measure.mjs [ROWS]: what applying ontology costs. A stream of ROWS orders in ten columns (if
// not told, ten million) and one of sixty: how long a job takes, what memory its worker had at
// most, and what ingest at a fixed rate feels of it. Prints, and judges nothing: figures are for a
// quiet machine and a release build (STRATA_PROGRAM). Needs PostgreSQL's programs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readProc } from '../e2e/harness.mjs';
import { ingest, shareOf, shown } from '../e2e/pace.mjs';
import { listedChildren } from '../e2e/processes.mjs';
import { below, oneOf, randomFrom } from '../e2e/random.mjs';
import { Postgres, servicesMissing } from '../e2e/services.mjs';
import { kBase, kKb, serve } from './apply.mjs';

const kSeed = 20261130;
const kPerSecond = 200;
const kCalmMs = 20_000;
const kBatchRows = 10_000;

/// Orders of several lines: a twentieth as many customers as rows, five thousand products.
class Orders {
  constructor(rows) {
    this.random = randomFrom(kSeed);
    this.customers = Math.max(Math.floor(rows / 20), 5);
    this.order = 0;
  }
  line() {
    const { random } = this;
    if (this.order === 0 || random() < 0.4) {
      ++this.order;
      this.customer = below(random, this.customers);
      this.at = new Date(Date.UTC(2024, 0, 1) + this.order * 7_000).toISOString().slice(0, 19);
      this.status = oneOf(random, ['paid', 'open', 'shipped', 'returned']);
    }
    const product = below(random, 5_000);
    return `{"order_id":"O${this.order}","ordered_at":"${this.at}","status":"${this.status}",` +
        `"customer_id":"C${this.customer}","customer_name":"Customer ${this.customer}",` +
        `"country":"${this.customer % 40}","product_id":"P${product}",` +
        `"product_name":"Product ${product}","quantity":${1 + below(random, 30)},` +
        `"price":"${(below(random, 100_000) / 100).toFixed(2)}"}\n`;
  }
  batch(rows) {
    return Array.from({ length: rows }, () => this.line()).join('');
  }
}

async function land(server, stream, rows) {
  await server.createReceiver(kKb, stream, { max_body_bytes: 2 ** 23 });
  const orders = new Orders(rows);
  for (let at = 0; at < rows; at += kBatchRows) {
    await server.land(kKb, stream, orders.batch(Math.min(kBatchRows, rows - at)), `b${at}`);
  }
}

/// The most resident memory any worker of the server has had, as far as they lived to be asked.
class WorkerMemory {
  constructor(server) {
    this.kilobytes = 0;
    this.timer = setInterval(() => listedChildren(server.pid).forEach((pid) => {
      const [, most] = /^VmHWM:\s+(\d+) kB$/m.exec(readProc(pid, 'status')) ?? [0, 0];
      this.kilobytes = Math.max(this.kilobytes, Number(most));
    }), 100);
  }
  end() {
    clearInterval(this.timer);
    return `${(this.kilobytes / 1024 / 1024).toFixed(2)} GiB`;
  }
}

async function apply(server, stream, beside) {
  const memory = new WorkerMemory(server);
  const begun = performance.now();
  const job = { ended: false };
  const ended = server.control(`${kBase}/receivers/${stream}/ontology`)
      .then((answer) => server.jobEnd(kKb, answer, 600_000))
      .then(({ state, reason }) => {
        assert.equal(state, 'done', reason);
        job.milliseconds = performance.now() - begun;
      })
      .finally(() => { job.ended = true; });
  const times = await beside?.(() => !job.ended);
  await ended;
  return { seconds: (job.milliseconds / 1000).toFixed(2), memory: memory.end(), times };
}

test('what applying ontology costs', { skip: servicesMissing }, async () => {
  const rows = Number(process.argv[2] ?? 10_000_000);
  const postgres = await Postgres.start();
  const server = await serve(postgres, 'measure');
  await server.createReceiver(kKb, 'small');
  await land(server, 'few', 60);
  await land(server, 'many', rows);
  await sleep(2_000);
  for (const stream of ['few', 'many']) {
    const { seconds, memory } = await apply(server, stream);
    console.log(`${stream === 'few' ? 60 : rows} rows: ${seconds} s, ${memory} in the worker`);
  }
  const { json } = await server.get(`${kBase}/ontology`);
  console.log(json.object_types.map(({ name }) => name).join(', '));

  // Another row, so that the second job has its work to do.
  await server.land(kKb, 'many', new Orders(5).batch(1), 'one-more');
  const send = () => server.post(kKb, 'small', '{"a":"1"}\n', {});
  const until = performance.now() + kCalmMs;
  const calm = await ingest(send, kPerSecond, () => performance.now() < until);
  const { seconds, times } = await apply(
      server, 'many', (lasts) => ingest(send, kPerSecond, lasts));
  const [p50, p99] = [0.5, 0.99].map((share) => [calm, times].map((all) => shareOf(all, share)));
  console.log(`ingest at ${kPerSecond}/s, calm: p50 ${shown(p50[0])}, p99 ${shown(p99[0])}; ` +
      `beside a job of ${seconds} s: p50 ${shown(p50[1])}, p99 ${shown(p99[1])}: ` +
      `${(p99[1] / p99[0]).toFixed(2)} times`);
  await server.stop();
});
