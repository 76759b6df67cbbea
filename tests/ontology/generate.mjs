// node tests/ontology/generate.mjs OUT [--reveal]: writes every stream as NDJSON into OUT/open and
// OUT/hidden, and beside the open ones the expected models; with --reveal beside all.
// node tests/ontology/generate.mjs --digests: prints what digests.txt holds.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { randomFrom, shuffled } from '../e2e/random.mjs';
import { clickstream } from './domains/clickstream.mjs';
import { deviceTelemetry } from './domains/device_telemetry.mjs';
import { flightLegs } from './domains/flight_legs.mjs';
import { hospitalVisits } from './domains/hospital_visits.mjs';
import { inventorySnapshots } from './domains/inventory_snapshots.mjs';
import { meterBilling } from './domains/meter_billing.mjs';
import { orderLines } from './domains/order_lines.mjs';
import { payroll } from './domains/payroll.mjs';
import { productList } from './domains/product_list.mjs';
import { sensorReadings } from './domains/sensor_readings.mjs';
import { shopOrders } from './domains/shop_orders.mjs';
import { supportTickets } from './domains/support_tickets.mjs';
import { columnsOf, expectedModel } from './model.mjs';
import { noisy } from './noise.mjs';

const kSeed = 20260417;
export const kLevels = [0, 1, 2, 3];
export const kDomains = [payroll, orderLines, shopOrders, sensorReadings, deviceTelemetry,
  clickstream, inventorySnapshots, supportTickets, hospitalVisits, meterBilling, flightLegs,
  productList];

/// Which two levels of each domain are open: each pair of levels goes to as many domains, so that
/// the halves are even over the domains and over the levels.
const kPairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
const kOpenLevels = shuffled(randomFrom(kSeed), kDomains.map((_, n) => kPairs[n % kPairs.length]));

export const ndjson = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

function stream(domain, at, level) {
  const rows = () => {
    const random = randomFrom(kSeed + at * 10 + level);
    return noisy(random, level, domain.rows(random, domain.sizes[level]), columnsOf(domain));
  };
  return {
    name: `${domain.name}-${level}`,
    level,
    open: kOpenLevels[at].includes(level),
    rows,
    model: expectedModel(domain, level),
  };
}

/// Every stream: {name, level, open, rows, model}, the same each time. `rows()` makes the rows.
export const streams = () => kDomains.flatMap(
    (domain, at) => kLevels.map((level) => stream(domain, at, level)));

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/// A line a stream: its name, the digest of its rows and that of its expected model.
export const digests = () => streams().map(({ name, rows, model }) => (
  `${name} ${sha256(ndjson(rows()))} ${sha256(JSON.stringify(model))}\n`)).join('');

function write(out, reveal) {
  for (const { name, open, rows, model } of streams()) {
    const folder = join(out, open ? 'open' : 'hidden');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.ndjson`), ndjson(rows()));
    if (!open && !reveal) continue;
    writeFileSync(join(folder, `${name}.expected.json`), `${JSON.stringify(model, null, 2)}\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [first, ...rest] = process.argv.slice(2);
  if (first === '--digests') process.stdout.write(digests());
  else if (first && !first.startsWith('-')) write(first, rest.includes('--reveal'));
  else throw new Error('usage: generate.mjs OUT [--reveal], or generate.mjs --digests');
}
