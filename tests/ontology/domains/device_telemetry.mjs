// Messages of tracked vehicles, camelCase, time as milliseconds since 1970. Device ids are fifteen
// digits; firmware changes under a device while it runs; a fleet is two columns, each repeated.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, epochMs, freeText, hex, many, measured } from '../values.mjs';

const kFleets = [['F-07', 'City vans'], ['F-11', 'Long haul'], ['F-23', 'Service cars']];
const kFirmware = ['2.9', '2.10', '2.10.1', '2.11'];

function devices(random, count) {
  return many(count, (n) => {
    const [fleetNo, fleetName] = kFleets[n % kFleets.length];
    return {
      deviceId: `35693803${5640000 + n * 811}`,
      deviceModel: oneOf(random, ['TX-4', 'TX-6', 'Nano']),
      fleetNo,
      fleetName,
      is4g: String(chance(random, 0.7)),
      firmware: between(random, 0, 2),
      kilometres: between(random, 2000, 90000),
    };
  });
}

function row(random, n, count, { firmware, kilometres, ...device }) {
  const upgraded = n * 2 > count ? 1 : 0;
  return {
    eventId: hex(random, 16),
    ts: String(epochMs(n * 37 + between(random, 0, 30))),
    ...device,
    fwVersion: kFirmware[firmware + upgraded],
    eventType: oneOf(random, ['position', 'position', 'ignition', 'harsh_brake']),
    speedKmh: measured(random, 0, 120),
    odometerKm: String(kilometres + Math.floor(n / 20)),
    fuelPct: String(between(random, 3, 100)),
    engineOn: String(chance(random, 0.8)),
    driverNote: chance(random, 0.02) ? freeText(random) : undefined,
    schemaVersion: 'v3',
  };
}

export const deviceTelemetry = {
  name: 'device_telemetry',
  sizes: [300, 2500, 4000, 1000],
  fact: { name: 'Message', key: 'eventId' },
  types: { deviceId: 'Device', fleetNo: 'Fleet', eventType: 'EventType' },
  columns: [
    ['eventId', 'VARCHAR', 'key', 'fact', 'messageId'],
    ['ts', 'TIMESTAMPTZ', 'time', 'fact', 'epochMs', { or: [{ type: 'BIGINT' },
      { type: 'TIMESTAMP' }] }],
    ['deviceId', 'VARCHAR', 'key', 'deviceId', 'unitSerial'],
    ['deviceModel', 'VARCHAR', 'category', 'deviceId', 'unitModel', { places: ['deviceModel'] }],
    ['fleetNo', 'VARCHAR', 'key', 'fleetNo', 'groupCode'],
    ['fleetName', 'VARCHAR', 'label', 'fleetNo', 'groupTitle'],
    ['is4g', 'BOOLEAN', 'flag', 'deviceId', 'unitHas4g'],
    ['fwVersion', 'VARCHAR', 'category', 'fact', 'firmware'],
    ['eventType', 'VARCHAR', 'category', 'eventType', 'messageType'],
    ['speedKmh', 'DOUBLE', 'measure', 'fact', 'velocity'],
    ['odometerKm', 'BIGINT', 'measure', 'fact', 'mileage'],
    ['fuelPct', 'BIGINT', 'measure', 'fact', 'tankPct'],
    ['engineOn', 'BOOLEAN', 'flag', 'fact', 'running'],
    ['driverNote', 'VARCHAR', 'text', 'fact', 'freeText'],
    ['schemaVersion', 'VARCHAR', 'constant', 'fact', 'format'],
  ],
  rows(random, count) {
    const all = devices(random, between(random, 20, 45));
    return many(count, (n) => row(random, n, count, oneOf(random, all)));
  },
};
