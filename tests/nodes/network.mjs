// A network of a test's own: the test runs itself again in a network namespace where nothing but
// loopback exists. A node reaches each service by a port of its own there, so that one node can be
// cut off and the others not.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';

const kMark = 'STRATA_OWN_NETWORK';
export const inOwnNetwork = process.env[kMark] === '1';

/// Below what the kernel hands out to whoever asks for any free port.
const kFirstPort = 7001;

// A rule names a connection by the port that its client dialled, in both directions and also once
// the address is translated. A reset must pass the rule that makes it.
const kRules = `
table ip strata {
  set silent { type inet_service; }
  set refused { type inet_service; }
  chain ways {
    type nat hook output priority -100;
  }
  chain cuts {
    type filter hook output priority 0;
    meta l4proto tcp ct original proto-dst @silent drop
    tcp flags & rst == 0 ct original proto-dst @refused reject with tcp reset
  }
}
`;

const kUnshare = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/// Why there can be no such network here, or nothing.
export function networkObstacle() {
  const [program, ...args] = [...kUnshare, 'nft', '-f', '-'];
  const { error, status, stderr } = spawnSync(program, args, { input: kRules, encoding: 'utf8' });
  if (error !== undefined) return `no ${program}`;
  return status === 0 ? '' : `no network of its own: ${stderr.trim().split('\n')[0]}`;
}

/// Runs the test file `path` there to its end, which has to be a good one. It ends with this
/// process, also when that is killed.
export async function againInOwnNetwork(path) {
  const args = ['--pdeathsig', 'KILL', '--', ...kUnshare, process.execPath,
                '--test-reporter=spec', path];
  const child = spawn('setpriv', args, {
    stdio: 'inherit', env: { ...process.env, NODE_TEST_CONTEXT: undefined, [kMark]: '1' },
  });
  const code = await new Promise((resolve) => { child.on('exit', resolve); });
  assert.equal(code, 0, `${path} in a network of its own`);
}

const nft = (...words) => execFileSync('nft', words, { stdio: ['ignore', 'ignore', 'inherit'] });

/// Ports that lead to others, and cuts of them. A cut is `silent`: nothing arrives, nobody is told;
/// or `refused`: whoever sends or dials is answered with a reset.
export class Ways {
  #next = kFirstPort;

  constructor() {
    assert.ok(inOwnNetwork, 'rules are for a network of its own');
    execFileSync('nft', ['-f', '-'], { input: kRules });
  }

  /// A port that leads to `port`.
  lead(port) {
    const own = this.#next++;
    nft('add', 'rule', 'ip', 'strata', 'ways', 'ip', 'daddr', '127.0.0.1', 'tcp', 'dport', `${own}`,
        'redirect', 'to', `:${port}`);
    return own;
  }
  cut(ports, how) { nft('add', 'element', 'ip', 'strata', how, `{ ${ports.join()} }`); }
  heal(ports, how) { nft('delete', 'element', 'ip', 'strata', how, `{ ${ports.join()} }`); }
}
