// Order lines out of an ERP, camelCase: a row per line, the order's head repeated on each. Order
// numbers are integers and customer numbers have leading zeros: both are names, not numbers.
import { below, oneOf } from '../../e2e/random.mjs';
import { between, chance, companies, day, freeText, many, money, padded } from '../values.mjs';

const kClasses = ['Fasteners', 'Hand tools', 'Adhesives', 'Safety'];
const kGoods = ['Bolt', 'Hammer', 'Glue', 'Helmet', 'Nut', 'Saw', 'Tape', 'Gloves'];

function masters(random, count) {
  const customerCount = between(random, 8, 30);
  const names = companies(random, customerCount);
  const customers = many(customerCount, (n) => ({
    customerNo: padded(1023 + n * 17, 7),
    customerName: names[n],
    customerSince: day(-between(random, 100, 4000)),
  }));
  const products = many(between(random, 12, 40), (n) => ({
    productCode: `AB-${1020 + n * 10}`,
    productName: `${kGoods[n % 8]} ${between(random, 2, 60)}x${n + 10}`,
    productClass: kClasses[n % 4],
    list: between(random, 200, 9000),
  }));
  const orders = many(Math.ceil(count / 3), (n) => ({
    orderNo: String(4500001 + n),
    orderDate: day(Math.floor(n * 300 / Math.ceil(count / 3))),
    orderStatus: oneOf(random, ['open', 'shipped', 'billed', 'cancelled']),
    ...oneOf(random, customers),
  }));
  return { orders, products };
}

function row(random, order, line, product) {
  const quantity = between(random, 1, 40);
  const discount = oneOf(random, [0, 0, 5, 10, 15]);
  const cents = Math.round(product.list * (0.9 + 0.2 * random()));
  return {
    ...order,
    lineNo: String(line * 10),
    productCode: product.productCode,
    productName: product.productName,
    productClass: product.productClass,
    qty: String(quantity),
    unitPrice: (cents / 100).toFixed(2),
    discountPct: String(discount),
    netAmount: (Math.round(quantity * cents * (100 - discount) / 100) / 100).toFixed(2),
    freight: money(random, 0, 30),
    currency: 'EUR',
    warehouse: oneOf(random, ['Malmo', 'Ghent', 'Graz']),
    note: chance(random, 0.04) ? freeText(random) : undefined,
  };
}

export const orderLines = {
  name: 'order_lines',
  sizes: [150, 1200, 3000, 600],
  fact: { name: 'OrderLine' },
  types: { orderNo: 'Order', customerNo: 'Customer', productCode: 'Product',
    productClass: 'ProductClass', warehouse: 'Warehouse' },
  columns: [
    ['orderNo', 'VARCHAR', 'key', 'orderNo', 'salesOrder'],
    ['lineNo', 'BIGINT', 'ordinal', 'fact', 'lineItemPos'],
    ['orderDate', 'DATE', 'time', 'orderNo', 'bookedOn', { spelling: 'slashed',
      places: ['fact'] }],
    ['orderStatus', 'VARCHAR', 'category', 'orderNo', 'salesOrderState'],
    ['customerNo', 'VARCHAR', 'key', 'customerNo', 'soldTo'],
    ['customerName', 'VARCHAR', 'label', 'customerNo', 'soldToName'],
    ['customerSince', 'DATE', 'time', 'customerNo', 'soldToSince', { spelling: 'dotted' }],
    ['productCode', 'VARCHAR', 'key', 'productCode', 'materialNo'],
    ['productName', 'VARCHAR', 'label', 'productCode', 'materialText'],
    ['productClass', 'VARCHAR', 'category', 'productClass', 'materialClass'],
    ['qty', 'BIGINT', 'measure', 'fact', 'orderedQty'],
    ['unitPrice', 'DECIMAL', 'measure', 'fact', 'priceEach'],
    ['discountPct', 'BIGINT', 'measure', 'fact', 'rebatePct'],
    ['netAmount', 'DECIMAL', 'measure', 'fact', 'netValue'],
    ['freight', 'DECIMAL', 'measure', 'fact', 'shippingCost'],
    ['currency', 'VARCHAR', 'constant', 'fact', 'curr'],
    ['warehouse', 'VARCHAR', 'category', 'warehouse', 'depot'],
    ['note', 'VARCHAR', 'text', 'fact', 'remark'],
  ],
  rows(random, count) {
    const { orders, products } = masters(random, count);
    // An order names a product once: the lines of one order start at a random place of the list.
    return orders.flatMap((order) => {
      const first = below(random, products.length);
      return many(between(random, 2, 5), (line) =>
        row(random, order, line + 1, products[(first + line * 5) % products.length]));
    }).slice(0, count);
  },
};
