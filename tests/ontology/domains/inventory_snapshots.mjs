// Stock as an ERP of the nineties exports it: capitals and abbreviations, numbers with leading
// zeros, a row per snapshot, warehouse and item, and a running number that is nobody's key.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, day, many, padded } from '../values.mjs';

const kWarehouses = [['010', 'Malmo North'], ['020', 'Ghent Port'], ['030', 'Graz Hub']];
const kGoods = ['BOLT', 'HAMMER', 'GLUE', 'HELMET', 'NUT', 'SAW', 'TAPE', 'GLOVES'];

function items(random, count) {
  return many(count, (n) => ({
    ITEM_NO: padded(123 + n * 9, 6),
    ITEM_DESC: `${kGoods[n % 8]} M${10 + n}`,
    ITEM_CLASS: oneOf(random, ['A', 'B', 'C']),
    UOM: oneOf(random, ['PC', 'BOX', 'KG']),
    cents: between(random, 90, 20000),
  }));
}

function row(random, n, snapshot, [WHSE_NO, WHSE_NAME], { cents, ...item }) {
  const onHand = between(random, 0, 900);
  const cost = Math.round(cents * (1 + snapshot * 0.013));
  return {
    REC_NO: String(n + 1),
    SNAP_DATE: day(snapshot * 7),
    WHSE_NO,
    WHSE_NAME,
    ...item,
    QTY_OH: String(onHand),
    QTY_RSV: String(Math.floor(onHand * random())),
    STD_COST: (cost / 100).toFixed(2),
    STK_VALUE: (onHand * cost / 100).toFixed(2),
    BLK_FLAG: chance(random, 0.1) ? 'Y' : 'N',
    LAST_CNT_DT: day(snapshot * 7 - between(random, 1, 60)),
    CURR: 'USD',
  };
}

export const inventorySnapshots = {
  name: 'inventory_snapshots',
  sizes: [240, 1800, 4500, 900],
  fact: { name: 'Stock' },
  types: { WHSE_NO: 'Warehouse', ITEM_NO: 'Item', ITEM_CLASS: 'ItemClass' },
  columns: [
    ['REC_NO', 'BIGINT', 'ordinal', 'fact', 'ROW_NUM'],
    ['SNAP_DATE', 'DATE', 'time', 'fact', 'AS_OF', { spelling: 'us' }],
    ['WHSE_NO', 'VARCHAR', 'key', 'WHSE_NO', 'DEPOT_CD'],
    ['WHSE_NAME', 'VARCHAR', 'label', 'WHSE_NO', 'DEPOT_NM'],
    ['ITEM_NO', 'VARCHAR', 'key', 'ITEM_NO', 'ART_CD'],
    ['ITEM_DESC', 'VARCHAR', 'label', 'ITEM_NO', 'ART_NM'],
    ['ITEM_CLASS', 'VARCHAR', 'category', 'ITEM_CLASS', 'ART_CLASS'],
    ['UOM', 'VARCHAR', 'category', 'ITEM_NO', 'ART_UNIT'],
    ['QTY_OH', 'BIGINT', 'measure', 'fact', 'ON_HAND_QTY'],
    ['QTY_RSV', 'BIGINT', 'measure', 'fact', 'RESERVED_QTY'],
    ['STD_COST', 'DECIMAL', 'measure', 'fact', 'COST_EACH'],
    ['STK_VALUE', 'DECIMAL', 'measure', 'fact', 'STOCK_AMT'],
    ['BLK_FLAG', 'BOOLEAN', 'flag', 'fact', 'HOLD_IND'],
    ['LAST_CNT_DT', 'DATE', 'time', 'fact', 'COUNTED_DT', { spelling: 'mixed' }],
    ['CURR', 'VARCHAR', 'constant', 'fact', 'CCY'],
  ],
  rows(random, count) {
    const all = items(random, Math.max(10, Math.min(60, Math.floor(count / 24))));
    const perSnapshot = all.length * kWarehouses.length;
    return many(count, (n) => row(random, n, Math.floor(n / perSnapshot),
                                  kWarehouses[Math.floor(n / all.length) % 3],
                                  all[n % all.length]));
  },
};
