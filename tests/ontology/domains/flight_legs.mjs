// Flown legs, PascalCase: a row per leg. Where a leg starts and where it ends are two roles of an
// airport; each has columns of its own, so each is drawn as a type of its own.
import { oneOf, shuffled } from '../../e2e/random.mjs';
import { between, chance, freeText, localTime, many } from '../values.mjs';

const kCarriers = [['ZX', 'Zephyr Air'], ['QN', 'Quiet North'], ['LV', 'Levanta']];
const kAirports = [['OSL', 'Oslo'], ['LYS', 'Lyon'], ['OPO', 'Porto'], ['GDN', 'Gdansk'],
  ['TRN', 'Turin'], ['BGO', 'Bergen'], ['BSL', 'Basel'], ['BIO', 'Bilbao']];

function masters(random) {
  const fleet = many(14, (n) => ({
    TailNo: `LN-${'ABCDEFGHIJKLMN'[n]}${'QRSTUVWXYZKLMN'[n]}A`,
    AircraftType: ['A320', 'B738', 'E190'][n % 3],
    TailSeats: String([180, 174, 106][n % 3] + (n % 5) * 2),
  }));
  const flights = many(24, (n) => {
    const [Carrier, CarrierName] = kCarriers[n % 3];
    const [[Origin, OriginCity], [Dest, DestCity]] = shuffled(random, kAirports);
    return { FlightNo: `${Carrier}${204 + n * 3}`, Carrier, CarrierName, Origin, OriginCity, Dest,
      DestCity };
  });
  return { fleet, flights };
}

function row(random, n, flight, plane) {
  const planned = n * 1260 + 300 * between(random, 0, 4);
  const late = between(random, -8, 55);
  return {
    SchedDep: localTime(planned),
    ActDep: localTime(planned + late * 60),
    ...flight,
    ...plane,
    DepDelayMin: String(late),
    AirTimeMin: String(between(random, 45, 210)),
    Pax: String(between(random, 40, 104)),
    FuelCost: (between(random, 180000, 900000) / 100).toFixed(2),
    Diverted: chance(random, 0.15) ? '1' : '0',
    LegStatus: oneOf(random, ['flown', 'flown', 'flown', 'charter']),
    Remarks: chance(random, 0.05) ? freeText(random) : undefined,
  };
}

export const flightLegs = {
  name: 'flight_legs',
  sizes: [200, 1500, 3500, 700],
  fact: { name: 'Leg' },
  types: { FlightNo: 'Flight', Carrier: 'Carrier', Origin: 'OriginAirport',
    Dest: 'DestinationAirport', TailNo: 'Aircraft', AircraftType: 'AircraftType' },
  columns: [
    ['SchedDep', 'TIMESTAMP', 'time', 'fact', 'PlannedOff', { spelling: 'iso_local' }],
    ['ActDep', 'TIMESTAMP', 'time', 'fact', 'ActualOff', { spelling: 'dotted_time' }],
    ['FlightNo', 'VARCHAR', 'key', 'FlightNo', 'FltNo', { places: ['fact'],
      or: [{ role: 'category' }] }],
    ['Carrier', 'VARCHAR', 'key', 'Carrier', 'AirlineCode'],
    ['CarrierName', 'VARCHAR', 'label', 'Carrier', 'AirlineName'],
    ['Origin', 'VARCHAR', 'key', 'Origin', 'FromCode'],
    ['OriginCity', 'VARCHAR', 'label', 'Origin', 'FromName'],
    ['Dest', 'VARCHAR', 'key', 'Dest', 'ToCode'],
    ['DestCity', 'VARCHAR', 'label', 'Dest', 'ToName'],
    ['TailNo', 'VARCHAR', 'key', 'TailNo', 'Registration'],
    ['AircraftType', 'VARCHAR', 'category', 'AircraftType', 'EquipmentType'],
    ['TailSeats', 'BIGINT', 'measure', 'TailNo', 'RegistrationSeats'],
    ['DepDelayMin', 'BIGINT', 'measure', 'fact', 'LateMin'],
    ['AirTimeMin', 'BIGINT', 'measure', 'fact', 'AirborneMin'],
    ['Pax', 'BIGINT', 'measure', 'fact', 'Passengers'],
    ['FuelCost', 'DECIMAL', 'measure', 'fact', 'FuelAmt'],
    ['Diverted', 'BOOLEAN', 'flag', 'fact', 'WasDiverted'],
    ['LegStatus', 'VARCHAR', 'category', 'fact', 'LegState'],
    ['Remarks', 'VARCHAR', 'text', 'fact', 'Comment'],
  ],
  rows(random, count) {
    const { fleet, flights } = masters(random);
    return many(count, (n) => row(random, n, oneOf(random, flights), oneOf(random, fleet)));
  },
};
