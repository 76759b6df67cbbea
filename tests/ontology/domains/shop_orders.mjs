// A web shop's export, a row per order, titles as columns. The order is the fact itself and its id
// names the row; customers come back.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, freeText, localTime, many, money, people } from '../values.mjs';

function row(random, n, count, customer) {
  const goods = between(random, 900, 30000);
  const freight = oneOf(random, [0, 490, 790]);
  return {
    'Order ID': `#${1001 + n}`,
    'Created at': localTime(Math.floor(n * 8_000_000 / count) + between(random, 0, 900)),
    ...customer,
    'Store': oneOf(random, ['North', 'Harbour', 'Old Town']),
    'Payment Method': oneOf(random, ['card', 'invoice', 'gift card', 'transfer']),
    'Items': String(between(random, 1, 9)),
    'Subtotal': (goods / 100).toFixed(2),
    'Shipping': (freight / 100).toFixed(2),
    'Total': ((goods + freight) / 100).toFixed(2),
    'Refunded': chance(random, 0.9) ? '0.00' : money(random, 5, 60),
    'Currency': oneOf(random, ['EUR', 'SEK', 'GBP']),
    'Gift': oneOf(random, ['yes', 'no', 'no']),
    'Status': oneOf(random, ['paid', 'paid', 'shipped', 'returned']),
    'Gift Message': chance(random, 0.05) ? freeText(random) : undefined,
  };
}

export const shopOrders = {
  name: 'shop_orders',
  sizes: [80, 900, 2000, 400],
  fact: { name: 'Order', key: 'Order ID' },
  types: { 'Customer ID': 'Customer', 'Store': 'Store' },
  columns: [
    ['Order ID', 'VARCHAR', 'key', 'fact', 'Order Ref'],
    ['Created at', 'TIMESTAMP', 'time', 'fact', 'Placed', { spelling: 'dotted_time' }],
    ['Customer ID', 'VARCHAR', 'key', 'Customer ID', 'Buyer No'],
    ['Customer Name', 'VARCHAR', 'label', 'Customer ID', 'Buyer'],
    ['Loyalty Member', 'BOOLEAN', 'flag', 'Customer ID', 'Buyer In Club'],
    ['Store', 'VARCHAR', 'category', 'Store', 'Branch'],
    ['Payment Method', 'VARCHAR', 'category', 'fact', 'Paid With',
      { places: ['Payment Method'] }],
    ['Items', 'BIGINT', 'measure', 'fact', 'Pieces'],
    ['Subtotal', 'DECIMAL', 'measure', 'fact', 'Goods Amt'],
    ['Shipping', 'DECIMAL', 'measure', 'fact', 'Freight Amt'],
    ['Total', 'DECIMAL', 'measure', 'fact', 'Total Amt'],
    ['Refunded', 'DECIMAL', 'measure', 'fact', 'Refund Amt'],
    ['Currency', 'VARCHAR', 'category', 'fact', 'Cur.'],
    ['Gift', 'BOOLEAN', 'flag', 'fact', 'Is Gift'],
    ['Status', 'VARCHAR', 'category', 'fact', 'Order State'],
    ['Gift Message', 'VARCHAR', 'text', 'fact', 'Card Text'],
  ],
  rows(random, count) {
    const names = people(random, Math.min(300, Math.ceil(count / 4)));
    const customers = names.map((name, n) => ({
      'Customer ID': String(70231 + n * 7),
      'Customer Name': name,
      'Loyalty Member': oneOf(random, ['Y', 'N']),
    }));
    return many(count, (n) => row(random, n, count, oneOf(random, customers)));
  },
};
