// Sensors read every quarter of an hour: few entities, many rows, numbers as instruments print
// them.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, day, localTime, many, measured, padded } from '../values.mjs';

const kSites = [['NO-OSL', 'Oslo Mill'], ['FR-LYS', 'Lyon Yard'], ['PT-OPO', 'Porto Plant'],
  ['AT-GRZ', 'Graz Lab']];

function sensors(random, count) {
  return many(count, (n) => ({
    sensor_id: `TH-${padded(7 + n * 3, 4)}`,
    sensor_type: oneOf(random, ['indoor', 'outdoor', 'duct']),
    site_code: kSites[n % kSites.length][0],
    site_name: kSites[n % kSites.length][1],
    install_date: day(-between(random, 10, 900)),
    is_calibrated: oneOf(random, ['0', '1', '1']),
  }));
}

export const sensorReadings = {
  name: 'sensor_readings',
  sizes: [400, 5000, 3000, 1500],
  fact: { name: 'Reading' },
  types: { sensor_id: 'Sensor', sensor_type: 'SensorType', site_code: 'Site' },
  columns: [
    ['reading_ts', 'TIMESTAMP', 'time', 'fact', 'measured_at', { spelling: 'iso_local' }],
    ['sensor_id', 'VARCHAR', 'key', 'sensor_id', 'probe'],
    ['sensor_type', 'VARCHAR', 'category', 'sensor_type', 'probe_type'],
    ['site_code', 'VARCHAR', 'key', 'site_code', 'plant_code'],
    ['site_name', 'VARCHAR', 'label', 'site_code', 'plant'],
    ['install_date', 'DATE', 'time', 'sensor_id', 'fitted_on', { spelling: 'ambiguous' }],
    ['is_calibrated', 'BOOLEAN', 'flag', 'sensor_id', 'has_certificate'],
    ['temp_c', 'DOUBLE', 'measure', 'fact', 'temperature'],
    ['humidity_pct', 'DOUBLE', 'measure', 'fact', 'rel_humidity'],
    ['pressure_hpa', 'DOUBLE', 'measure', 'fact', 'air_pressure'],
    ['battery_v', 'DOUBLE', 'measure', 'fact', 'volts'],
    ['co2_ppm', 'BIGINT', 'measure', 'fact', 'carbon_ppm'],
    ['quality', 'VARCHAR', 'category', 'fact', 'data_quality'],
    ['temp_unit', 'VARCHAR', 'constant', 'fact', 'unit'],
  ],
  rows(random, count) {
    const all = sensors(random, between(random, 12, 20));
    return many(count, (n) => ({
      reading_ts: localTime(Math.floor(n / all.length) * 900 + between(random, 0, 59)),
      ...all[n % all.length],
      temp_c: measured(random, -8, 31),
      humidity_pct: measured(random, 20, 95),
      pressure_hpa: measured(random, 960, 1040),
      battery_v: measured(random, 2, 3),
      co2_ppm: String(between(random, 380, 1400)),
      quality: chance(random, 0.93) ? 'ok' : oneOf(random, ['suspect', 'drift']),
      temp_unit: 'C',
    }));
  },
};
