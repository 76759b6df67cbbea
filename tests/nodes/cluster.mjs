// Three nodes on one root with PostgreSQL and Redis, each of which every node reaches by a way of
// its own; and what can happen to them.
import assert from 'node:assert/strict';
import { isStopped } from '../e2e/ddl_worker.mjs';
import { start, until } from '../e2e/harness.mjs';
import { Postgres, Redis } from '../e2e/services.mjs';
import { Ways } from './network.mjs';

export const kNodes = ['a', 'b', 'c'];
export const kServices = ['redis', 'postgres'];
/// One knowledgebase of each backend.
export const kKbs = ['file', 'postgres'];

function throughPort(url, port) {
  const there = new URL(url);
  there.port = `${port}`;
  return there.href;
}

class Node {
  constructor(name, ways) {
    this.name = name;
    this.ways = ways;  // service to port
  }
  get up() { return this.server !== undefined && !this.killed; }

  async kill() {
    this.killed = true;
    await this.server.kill();
  }
  async restart() {
    await this.server.restart();
    this.killed = false;
  }
  async pause() {
    process.kill(this.server.pid, 'SIGSTOP');
    await until(() => isStopped(this.server.pid), 'the stop');
  }
  goOn() { process.kill(this.server.pid, 'SIGCONT'); }
}

export class Cluster {
  static async start() {
    const cluster = new Cluster();
    await cluster.#startServices();
    cluster.nodes = kNodes.map((name) => new Node(name, {
      redis: cluster.#ways.lead(cluster.redis.port),
      postgres: cluster.#ways.lead(cluster.postgres.port),
    }));
    for (const node of cluster.nodes) await cluster.#startNode(node);
    for (const kb of kKbs) await cluster.nodes[0].server.createKb(kb, kb);
    return cluster;
  }

  #ways = new Ways();

  async #startServices() {
    [this.postgres, this.redis] = await Promise.all([Postgres.start(), Redis.start()]);
    this.database = this.postgres.database('three');
  }

  async #startNode(node) {
    node.server = await start({
      data: this.data,
      args: ['--node', node.name, '--redis', throughPort(this.redis.url, node.ways.redis),
             '--postgres', throughPort(this.database, node.ways.postgres)],
    });
    this.data ??= node.server.data;
  }

  get alive() { return this.nodes.filter(({ up }) => up); }

  /// `services` are out of the node's reach from now on.
  cut(node, services, how) { this.#ways.cut(services.map((one) => node.ways[one]), how); }
  heal(node, services, how) { this.#ways.heal(services.map((one) => node.ways[one]), how); }

  /// Nothing is out of anybody's reach, and everybody knows.
  async whole() {
    for (const { name, server } of this.nodes) {
      await until(async () => {
        const { status, json } = await server.get('/readyz');
        assert.equal(status, 200, `${name}: ${JSON.stringify(json)}`);
        return json.reduced.length === 0;
      }, `both services for ${name}`);
    }
  }

  async end() {
    for (const { server } of this.nodes) await server.stop();
  }
}
