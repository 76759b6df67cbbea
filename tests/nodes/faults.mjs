// What happens to the nodes and their services, and what has to go on meanwhile.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasPrivateCopyOpen } from '../e2e/ddl_worker.mjs';
import { until } from '../e2e/harness.mjs';
import { listedChildren } from '../e2e/processes.mjs';
import { below, oneOf, shuffled } from '../e2e/random.mjs';
import { kKbs, kServices } from './cluster.mjs';

/// The lock's life in these runs, of which the product's own is a multiple.
export const kLockMilliseconds = 1000;
const kPauseMilliseconds = 1500;
// No promise about speed: only how long a hung node may hold up a test.
const kAnswerMillisecondsMax = 60_000;
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
    let publishing;
    await this.#outage(fault, [fault.service], {
      begin: async () => {
        publishing = await this.#publishing(fault.node);
        await service.stop();
      },
      end: () => service.start(),
    });
    await publishing.landed;
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
          kb, `SELECT count(*) FROM raw_extracted.stream_${stream}`);
      assert.ok([200, 409, 503].includes(answer.status), `${what}: ${answer.text}`);
      return answer.status === 200;
    }, `${what}: a read of ${kb}/${stream}`);
  }

  /// Meanwhile another node makes a view in the same kb, whatever the paused one holds.
  async #pause({ node }, other) {
    const { load, random } = this;
    const kb = oneOf(random, kKbs);
    const target = await load.newStream(kb, random);
    const publishing = await this.#publishing(node, kb);
    await node.pause();
    try {
      const window = { node: other, what: `${node.name} pause` };
      await Promise.all([
        sleep(kPauseMilliseconds),
        this.#mustLandFirst(window, target).then(() => this.#mustRead(window, target)),
      ]);
    } finally {
      node.goOn();
    }
    await publishing.landed;
  }

  async #kill({ node }) {
    const publishing = await this.#publishing(node);
    await node.kill();
    await sleep(below(this.random, kPauseMilliseconds));
    await node.restart();
    await publishing.landed;
  }

  /// Over when `node` holds the lock for the first batch of a new stream, as far as that can be
  /// seen, or was too quick. Its `landed` is the end of that batch's landing.
  async #publishing(node, kb = oneOf(this.random, kKbs)) {
    const { load, random } = this;
    const target = await load.newStream(kb, random);
    const batch = load.batch(target);
    let over = false;
    const landing = load.send(node, batch).finally(() => { over = true; });
    const { pid } = node.server;
    while (!over && !listedChildren(pid).some(hasPrivateCopyOpen)) await sleep(1);
    if (!over) this.counts['while publishing'] += 1;
    const landed = landing.then(() => load.land(batch, random)).then(() => load.open(target));
    landed.catch(() => {});  // told where it is awaited
    return { landed };
  }
}
