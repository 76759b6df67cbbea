// What happens to the nodes and their services, and what has to go on meanwhile.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopDdlWorker } from '../e2e/ddl_worker.mjs';
import { until } from '../e2e/harness.mjs';
import { unlessGone } from '../e2e/processes.mjs';
import { below, oneOf, shuffled } from '../e2e/random.mjs';
import { kKbs, kServices } from './cluster.mjs';
import { viewOf } from './outside.mjs';

/// The lock's life in these runs, of which the product's own is a multiple.
export const kLockMilliseconds = 1000;
const kPauseMilliseconds = 1500;
// No promise about speed: only how long a hung node may hold up a test.
const kAnswerMillisecondsMax = 60_000;
/// So many new streams are tried to meet a node while it makes a view.
const kTries = 5;
/// A cut of the lock's holder outlives its lease.
const kOutageMillisecondsMin = 1200;

const kCuts = [['redis'], ['postgres'], kServices].flatMap(
    (services) => ['silent', 'refused'].map((how) => ({ services, how })));

/// Every fault that a node can have, and the restarts of a service.
const kOfNode = [
  ...kCuts.map((cut) => ({ kind: 'cut', ...cut })),
  ...kCuts.map((cut) => ({ kind: 'restart while cut', ...cut })),
  { kind: 'pause' }, { kind: 'kill' },
];
const kOfService = kServices.map((service) => ({ kind: 'service', service }));

export const nameOf = ({ kind, services, how, service, node }) =>
    [node.name, kind, service, services?.join('+'), how].filter(Boolean).join(' ');

/// Steps of one or two faults that come at the same time, each with a node of its own. `every`:
/// each fault for each node; else each once, but only one of those that restart while cut.
export function schedule(random, nodes, every) {
  const once = (fault) => ({ ...fault, node: oneOf(random, nodes) });
  const restarts = kOfNode.filter(({ kind }) => kind === 'restart while cut');
  const rest = kOfNode.filter(({ kind }) => kind !== 'restart while cut');
  const faults = every
      ? [...kOfNode, ...kOfService].flatMap((fault) => nodes.map((node) => ({ ...fault, node })))
      : [...rest, oneOf(random, restarts), ...kOfService].map(once);
  const steps = [];
  for (const fault of shuffled(random, faults)) {
    const step = steps.find((one) => one.length === 1 && fitBeside(one[0], fault));
    if (step === undefined) steps.push([fault]);
    else step.push(fault);
  }
  return steps;
}

/// A service that is away is away for both.
const fitBeside = (one, other) => one.node !== other.node &&
    one.kind !== 'service' && other.kind !== 'service';

/// One run's faults. `counts` says what was tried.
export class Faults {
  counts = { faults: 0, outages: 0, 'while publishing': 0 };
  #spare = [];  // lists of streams that no client knows yet

  constructor(cluster, load, random) {
    this.cluster = cluster;
    this.load = load;
    this.random = random;
  }

  /// The faults of one step.
  async happen(step) {
    const free = this.cluster.nodes.filter((node) => step.every((fault) => fault.node !== node));
    await Promise.all(step.map((fault) => this.#happen(fault, oneOf(this.random, free))));
  }

  /// Nothing happens to `other` meanwhile.
  async #happen(fault, other) {
    this.counts.faults += 1;
    switch (fault.kind) {
      case 'cut':
      case 'restart while cut': return this.#cut(fault);
      case 'service': return this.#service(fault);
      case 'pause': return this.#pause(fault, other);
      default: return this.#kill(fault);
    }
  }

  async #cut(fault) {
    const { node, services, how } = fault;
    await this.#outage(fault, services, {
      begin: async () => {
        this.cluster.cut(node, services, how);
        if (fault.kind === 'cut') return;
        await node.kill();
        await node.restart();
      },
      end: () => this.cluster.heal(node, services, how),
    });
  }

  /// Killed, and back: Redis forgets every lock that is held then.
  async #service(fault) {
    const service = this.cluster[fault.service];
    let held;
    await this.#outage(fault, [fault.service], {
      begin: async () => {
        held = await this.#whilePublishing(fault.node, () => service.stop());
      },
      end: () => service.start(),
    });
    await held.landed;
  }

  /// While `node` lacks `services`: every batch that it gets lands, whatever is new about it.
  async #outage(fault, services, { begin, end }) {
    const { node } = fault;
    const { load, random } = this;
    this.counts.outages += 1;
    const fresh = await this.#freshStreams();
    const known = kKbs.map((kb) => oneOf(random, load.known.filter((one) => one.kb === kb)));
    const window = load.openWindow(node, nameOf(fault));
    let made;
    try {
      await begin();
      made = kKbs.map((kb) => load.newStream(kb, random, node));
      Promise.all(made).catch(() => {});  // told where they are awaited
      await Promise.all([
        sleep(kOutageMillisecondsMin),
        ...fresh.map((target) => this.#mustLandFirst(window, target)),
        ...known.map((target, n) => this.#mustLand(
            window, load.batch(target, { [`outage${this.counts.outages}_${n}`]: 'x' }))),
        ...known.map((target) => this.#mustRead(window, target)),
        ...(services.includes('redis') ? [] : fresh).map(
            (target) => this.#mustRead(window, target)),
        // Nobody needs PostgreSQL for a receiver of a kb that is not there.
        made[kKbs.indexOf('file')],
      ]);
      await until(() => window.landed > 0, `batches of clients: ${window.what}`);
    } finally {
      await end();
      load.closeWindow(window);
    }
    this.#spare.push(await Promise.all(made));
  }

  /// One of each kb that nothing was sent to: of an earlier outage, if there was one.
  async #freshStreams() {
    const { load, random } = this;
    return this.#spare.pop() ?? Promise.all(kKbs.map((kb) => load.newStream(kb, random)));
  }

  async #mustLand({ node, what }, batch) {
    const answer = await Promise.race([
      this.load.ask(node, batch, []), sleep(kAnswerMillisecondsMax, undefined, { ref: false })]);
    assert.equal(answer?.status, 200, `${what}: ${answer?.text ?? 'no answer'}`);
  }

  async #mustLandFirst(window, target) {
    await this.#mustLand(window, this.load.batch(target));
    this.load.open(target);
  }

  /// A view that is being made is waited for.
  async #mustRead({ node, what }, { kb, stream }) {
    await until(async () => {
      const answer = await node.server.query(
          kb, `SELECT count(*) FROM ${viewOf(stream)}`);
      assert.ok([200, 409, 503].includes(answer.status), `${what}: ${answer.text}`);
      return answer.status === 200;
    }, `${what}: a read of ${kb}/${stream}`);
  }

  /// Meanwhile another node makes views, whatever the paused one holds.
  async #pause({ node }, other) {
    const { load, random } = this;
    const targets = await Promise.all(kKbs.map((kb) => load.newStream(kb, random)));
    const held = await this.#whilePublishing(node, () => node.pause());
    try {
      const window = { node: other, what: `${node.name} pause` };
      await Promise.all([
        sleep(kPauseMilliseconds),
        ...targets.map(async (target) => {
          await this.#mustLandFirst(window, target);
          await this.#mustRead(window, target);
        }),
      ]);
    } finally {
      node.goOn();
    }
    await held.landed;
  }

  async #kill({ node }) {
    const held = await this.#whilePublishing(node, () => node.kill());
    await sleep(below(this.random, kPauseMilliseconds));
    await node.restart();
    await held.landed;
  }

  /// Has `fault` happen while `node` makes the view of a new stream, and so holds the lock. A view
  /// that is made too quickly counts for nothing: another is tried, a few times. The answer's
  /// `landed` is the end of all that was sent for it.
  async #whilePublishing(node, fault) {
    const landings = [];
    let worker;
    for (let n = 0; n < kTries && worker === undefined; ++n) {
      const target = await this.load.newStream(oneOf(this.random, kKbs), this.random);
      const batch = this.load.batch(target);
      const first = this.load.send(node, batch);
      landings.push(this.#landAnyhow(first, target, batch));
      worker = await stopDdlWorker(node.server, first);
    }
    const landed = Promise.all(landings);
    landed.catch(() => {});  // told where it is awaited
    const struck = fault();  // its signal is sent; of a killed node the worker has to end, too
    if (worker !== undefined) {
      this.counts['while publishing'] += 1;
      unlessGone(() => process.kill(worker, 'SIGCONT'));
    }
    await struck;
    return { landed };
  }

  async #landAnyhow(first, target, batch) {
    await first;
    await this.load.land(batch, this.random);
    this.load.open(target);
  }
}
