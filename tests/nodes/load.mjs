// Clients that never pause, and the log of what they were told. A batch has one id and one body for
// ever; ids go to several clients and nodes; what was not answered by 200 is sent again, elsewhere.
import { setTimeout as sleep } from 'node:timers/promises';
import { History, sendLogged } from '../e2e/checker.mjs';
import { until } from '../e2e/harness.mjs';
import { below, oneOf, randomFrom } from '../e2e/random.mjs';
import { kKbs } from './cluster.mjs';

const kClients = 24;
const kReaders = 2;
const kRowsPerBatch = 3;
/// Names of the columns that come and stay: new to each stream once.
const kColumns = 40;
/// Of a hundred sends so many repeat one of the newest ids, which others may be sending just now.
const kRepeatedPercent = 25;
const kNewestIds = 2 * kClients;
const kRestMilliseconds = 100;
/// After so long a client takes it that nobody answers, and asks another node. The answer may still
/// come, and counts.
const kNoAnswerMilliseconds = 1000;

const pathOf = (kb, rest) => `/knowledgebase/${kb}/strata/${rest}`;
const resend = (answer) => answer === undefined || answer.status === 503;

/// One stream: its receiver was acknowledged, and these batches were sent to it.
class Target {
  history = new History();
  batches = new Map();  // by id: { id, target, rows, answers, unanswered }

  constructor(kb, stream) {
    this.kb = kb;
    this.stream = stream;
  }
}

/// A time in which a node lacks a service: how many batches it acknowledged to clients, of those
/// that were sent meanwhile.
class Window {
  landed = 0;

  constructor(node, what) {
    this.node = node;
    this.what = what;
  }
}

export class Load {
  targets = [];
  known = [];  // those whose views were there before anything happened
  refused = [];  // answers to batches that are not 200
  windows = [];
  reads = [];  // { kb, generation, views }
  sends = 0;
  sent = 0;  // different batches, by clients
  #allowed = 0;
  #stopped = false;
  #newest = [];
  #openTargets = [];
  #onTheirWay = new Set();
  #open = new Set();  // windows
  #nextStream = 0;
  #nextBatch = 0;

  constructor(cluster, seed) {
    this.cluster = cluster;
    this.seed = seed;
  }

  /// A receiver in `kb`, by any node or by `node`, asked again until somebody has made it.
  async newStream(kb, random, node) {
    const stream = `s${this.#nextStream++}`;
    await until(async () => {
      const { server } = node ?? oneOf(random, this.cluster.alive);
      const asked = server.control(pathOf(kb, 'receivers'), { stream }).catch(() => undefined);
      const answer = await this.#withPatience(asked);
      if (resend(answer)) return undefined;
      if (answer.status !== 201 && answer.status !== 200) throw new Error(answer.text);
      return answer;
    }, `a receiver for ${kb}/${stream}`);
    const target = new Target(kb, stream);
    this.targets.push(target);
    return target;
  }
  /// Clients send to it from now on.
  open(target) { this.#openTargets.push(target); }

  /// A batch that nobody has sent.
  batch(target, more = {}) {
    const n = this.#nextBatch++;
    const id = `b${n}`;
    const rows = Array.from({ length: kRowsPerBatch }, (_, row) => ({
      id, row: `${row}`, [`column${n % kColumns}`]: `value ${n}`, ...more,
    }));
    const batch = { id, target, rows, answers: [], unanswered: 0 };
    target.batches.set(id, batch);
    return batch;
  }

  /// One attempt, which counts in `windows`. Answers what the node said, nothing where it died.
  ask(node, batch, windows) {
    const sending = this.#record(node, batch, windows);
    this.#onTheirWay.add(sending);
    sending.finally(() => this.#onTheirWay.delete(sending));
    return sending;
  }
  /// One attempt of a client. Nothing also where nothing was said for long.
  send(node, batch) { return this.#withPatience(this.ask(node, batch, this.#windowsOf(node))); }

  /// Sends until somebody answers 200.
  async land(batch, random) {
    let last;
    await until(async () => {
      const others = this.cluster.alive.filter((node) => node !== last);
      last = oneOf(random, others.length > 0 ? others : this.cluster.nodes);
      const answer = await this.send(last, batch);
      if (answer?.status === 200) return true;
      if (!resend(answer)) throw new Error(answer.text);
      await sleep(kRestMilliseconds);
      return false;
    }, `an answer to ${batch.id}`);
  }

  openWindow(node, what) {
    const window = new Window(node, what);
    this.windows.push(window);
    this.#open.add(window);
    return window;
  }
  closeWindow(window) { this.#open.delete(window); }

  /// So many more batches are due; over when they are sent.
  async more(count) {
    this.#allowed += count;
    await until(() => this.sent >= this.#allowed, `${this.#allowed} batches`);
  }

  /// Clients and readers go on while `work` does. Over when everything that was sent is answered.
  async during(work) {
    let failure;
    const orStop = (loop) => loop.catch((error) => {
      failure ??= error;
      this.#stopped = true;
    });
    const loops = [
      ...Array.from({ length: kClients }, (_, n) => this.#client(randomFrom(this.seed + 1 + n))),
      ...Array.from({ length: kReaders }, (_, n) => this.#reader(randomFrom(this.seed - 1 - n))),
    ].map(orStop);
    try {
      await Promise.race([work(), Promise.all(loops).then(() => { throw failure; })]);
    } finally {
      this.#stopped = true;
      await Promise.all(loops);
      await Promise.all(this.#onTheirWay);
    }
    if (failure !== undefined) throw failure;
  }

  async #client(random) {
    while (!this.#stopped) {
      await this.land(this.#draw(random), random);
      await sleep(kRestMilliseconds);
    }
  }

  /// A new batch where one is due, else an id that somebody sent before.
  #draw(random) {
    if (this.#newest.length > 0) {
      const repeated = random() * 100 < kRepeatedPercent;
      if (repeated || this.sent >= this.#allowed) return oneOf(random, this.#newest);
    }
    const batch = this.batch(oneOf(random, this.#openTargets));
    this.sent += 1;
    this.#newest[below(random, kNewestIds)] = batch;
    this.#newest = this.#newest.filter(Boolean);
    return batch;
  }

  #windowsOf(node) { return [...this.#open].filter((window) => window.node === node); }

  async #record(node, batch, windows) {
    const { target: { kb, stream, history }, id, rows } = batch;
    const during = this.#windowsOf(node).map(({ what }) => what).join();
    this.sends += 1;
    const answer = await sendLogged(history, node.server, { kb, stream, id, rows });
    if (answer === undefined) {
      batch.unanswered += 1;
    } else if (answer.status === 200) {
      batch.answers.push(answer.json);
      for (const window of windows) if (this.#open.has(window)) window.landed += 1;
    } else {
      this.refused.push(`${node.name} (${during}): ${answer.status} ${answer.text}`);
    }
    return answer;
  }

  /// What the views of a generation were, as readers see it.
  async #reader(random) {
    while (!this.#stopped) {
      const kb = oneOf(random, kKbs);
      const { server } = oneOf(random, this.cluster.nodes);
      const answer = await this.#withPatience(
          server.query(kb, 'SHOW TABLES').catch(() => undefined));
      if (answer?.status === 200) {
        const { read, rows } = answer.json;
        this.reads.push({ kb, generation: read.generation, views: rows.flat().toSorted() });
      } else if (!resend(answer)) {
        throw new Error(answer.text);
      }
      await sleep(kRestMilliseconds);
    }
  }

  #withPatience(promise) {
    return Promise.race([promise, sleep(kNoAnswerMilliseconds, undefined, { ref: false })]);
  }
}
