// Bills of energy meters, names with hyphens: in the smallest stream eight meters over three
// months, where hardly anything differs from anything and only sense tells what belongs to what.
import { below, oneOf } from '../../e2e/random.mjs';
import { between, chance, day, many, month, padded, people } from '../values.mjs';

const kTariffs = ['Day', 'Night', 'Flat'];

function meters(random, count) {
  // Every fourth customer has two meters.
  const names = people(random, count);
  return many(count, (n) => {
    const owner = n - (n % 5 === 4 ? 1 : 0);
    return {
      'meter-no': padded(40210 + n * 77, 8),
      'meter-installed': day(-between(random, 60, 4000)),
      'customer-no': `K-${3100 + owner * 7}`,
      'customer-name': names[owner],
      tariff: below(random, 3),
      reading: between(random, 1000, 60000),
    };
  });
}

function row(random, n, period, meter) {
  const used = between(random, 80, 900);
  // The tariff's price changes every month.
  const price = 1900 + meter.tariff * 430 + period * 57;
  const opening = meter.reading;
  meter.reading += used;
  return {
    'invoice-no': `INV-${padded(17 + n, 5)}`,
    'billing-month': month(period),
    'meter-no': meter['meter-no'],
    'meter-installed': meter['meter-installed'],
    'customer-no': meter['customer-no'],
    'customer-name': meter['customer-name'],
    'tariff': kTariffs[meter.tariff],
    'reading-start': String(opening),
    'reading-end': String(meter.reading),
    'kwh': String(used),
    'unit': 'kWh',
    'price-per-kwh': (price / 10000).toFixed(4),
    'amount': (Math.round(used * price / 100) / 100).toFixed(2),
    'due-date': day(period * 30 + 45 + between(random, 0, 4)),
    'paid': String(chance(random, 0.8)),
    'dunning-status': oneOf(random, ['none', 'none', 'none', 'reminder', 'final']),
  };
}

export const meterBilling = {
  name: 'meter_billing',
  sizes: [24, 240, 1800, 600],
  fact: { name: 'Bill', key: 'invoice-no' },
  types: { 'meter-no': 'Meter', 'customer-no': 'Customer', 'tariff': 'Tariff' },
  columns: [
    ['invoice-no', 'VARCHAR', 'key', 'fact', 'bill-no'],
    ['billing-month', 'MONTH', 'time', 'fact', 'period', { spelling: 'month_name' }],
    ['meter-no', 'VARCHAR', 'key', 'meter-no', 'device-no'],
    ['meter-installed', 'DATE', 'time', 'meter-no', 'device-fitted', { spelling: 'dotted' }],
    ['customer-no', 'VARCHAR', 'key', 'customer-no', 'account-no'],
    ['customer-name', 'VARCHAR', 'label', 'customer-no', 'account-holder'],
    ['tariff', 'VARCHAR', 'category', 'tariff', 'rate-plan'],
    ['reading-start', 'BIGINT', 'measure', 'fact', 'opening'],
    ['reading-end', 'BIGINT', 'measure', 'fact', 'closing'],
    ['kwh', 'BIGINT', 'measure', 'fact', 'usage-kwh'],
    ['unit', 'VARCHAR', 'constant', 'fact', 'uom'],
    ['price-per-kwh', 'DECIMAL', 'measure', 'fact', 'unit-price'],
    ['amount', 'DECIMAL', 'measure', 'fact', 'total-due'],
    ['due-date', 'DATE', 'time', 'fact', 'payable-by', { spelling: 'slashed' }],
    ['paid', 'BOOLEAN', 'flag', 'fact', 'settled'],
    ['dunning-status', 'VARCHAR', 'category', 'fact', 'reminder-state'],
  ],
  rows(random, count) {
    const periods = count < 100 ? 3 : 12;
    const all = meters(random, Math.ceil(count / periods));
    return many(count, (n) => row(random, n, Math.floor(n / all.length), all[n % all.length]));
  },
};
