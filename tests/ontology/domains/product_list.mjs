// A list of products and nothing else: nothing happens in it, so there is no fact. What belongs
// to no other type is the product's.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, companies, day, freeText, many, money, padded } from '../values.mjs';

const kNouns = ['Lamp', 'Chair', 'Table', 'Shelf', 'Rug', 'Clock', 'Vase', 'Mirror'];
const kStyles = ['Nord', 'Alto', 'Fjell', 'Riva', 'Sund', 'Monte', 'Lido', 'Brisk'];

export const productList = {
  name: 'product_list',
  sizes: [40, 300, 1000, 200],
  fact: null,
  entity: 'sku',
  types: { sku: 'Product', brand: 'Brand', product_type: 'ProductType', supplier_no: 'Supplier' },
  columns: [
    ['sku', 'VARCHAR', 'key', 'sku', 'article_no'],
    ['product_name', 'VARCHAR', 'label', 'sku', 'article_name'],
    ['brand', 'VARCHAR', 'category', 'brand', 'maker'],
    ['product_type', 'VARCHAR', 'category', 'product_type', 'article_type'],
    ['supplier_no', 'VARCHAR', 'key', 'supplier_no', 'vendor_no'],
    ['supplier_name', 'VARCHAR', 'label', 'supplier_no', 'vendor_name'],
    ['supplier_since', 'DATE', 'time', 'supplier_no', 'vendor_since', { spelling: 'dotted' }],
    ['colour', 'VARCHAR', 'category', 'sku', 'color'],
    ['weight_g', 'BIGINT', 'measure', 'sku', 'grams'],
    ['list_price', 'DECIMAL', 'measure', 'sku', 'catalogue_price'],
    ['currency', 'VARCHAR', 'constant', 'sku', 'ccy'],
    ['launched_on', 'DATE', 'time', 'sku', 'on_sale_since', { spelling: 'ambiguous' }],
    ['discontinued', 'BOOLEAN', 'flag', 'sku', 'no_longer_made'],
    ['description', 'VARCHAR', 'text', 'sku', 'blurb'],
  ],
  rows(random, count) {
    const suppliers = companies(random, 12).map((name, n) => ({
      supplier_no: padded(301 + n * 8, 5), supplier_name: name,
      supplier_since: day(-between(random, 90, 5000)),
    }));
    return many(count, (n) => ({
      sku: `P-${padded(11000 + n * 3, 6)}`,
      product_name: `${kNouns[n % 8]} ${kStyles[Math.floor(n / 8) % 8]} ${n + 1}`,
      brand: oneOf(random, ['Heimat', 'Kvist', 'Ondina', 'Plank']),
      product_type: ['Light', 'Seat', 'Storage', 'Decoration'][n % 4],
      ...oneOf(random, suppliers),
      colour: oneOf(random, ['white', 'oak', 'black', 'green']),
      weight_g: String(between(random, 120, 24000)),
      list_price: money(random, 4, 900),
      currency: 'EUR',
      launched_on: day(-between(random, 1, 2500)),
      discontinued: String(chance(random, 0.15)),
      description: `${freeText(random)}, ${freeText(random)}`,
    }));
  },
};
