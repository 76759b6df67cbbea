// Clicks of a web site: a row per hit, a session repeated over its hits, people who are signed in
// in four sessions of five, pages with a path that names them.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, day, hex, instant, many, measured, padded } from '../values.mjs';

const kPages = [['/', 'Home'], ['/prices', 'Prices'], ['/docs', 'Documentation'],
  ['/docs/start', 'Getting started'], ['/about', 'About us'], ['/jobs', 'Jobs'],
  ['/blog/first-light', 'First light'], ['/blog/slow-tests', 'Why tests are slow'],
  ['/contact', 'Contact'], ['/status', 'Status of the service']];

function sessions(random, count) {
  const users = many(Math.ceil(count / 3), (n) => ({
    user_id: `u_${padded(90 + n * 31, 6)}`,
    signup_date: day(-between(random, 1, 700)),
    is_paying: oneOf(random, ['t', 'f']),
  }));
  return many(count, () => ({
    session_id: hex(random, 12),
    browser: oneOf(random, ['Firefox', 'Chrome', 'Safari', 'Edge']),
    is_bot: oneOf(random, ['f', 'f', 'f', 't']),
    ...(chance(random, 0.8) ? oneOf(random, users) : {}),
  }));
}

function row(random, n, session) {
  const [page_path, page_title] = oneOf(random, kPages);
  return {
    event_id: hex(random, 20),
    event_time: instant(n * 3 + between(random, 0, 2)),
    ...session,
    page_path,
    page_title,
    event_type: oneOf(random, ['view', 'view', 'click', 'scroll']),
    duration_ms: String(between(random, 40, 60000)),
    scroll_depth: measured(random, 0, 1),
    sdk_version: 'web-4.2.0',
  };
}

export const clickstream = {
  name: 'clickstream',
  sizes: [500, 3000, 5000, 1200],
  fact: { name: 'Hit', key: 'event_id' },
  types: { session_id: 'Session', user_id: 'User', page_path: 'Page', event_type: 'EventType' },
  columns: [
    ['event_id', 'VARCHAR', 'key', 'fact', 'hit_id'],
    ['event_time', 'TIMESTAMPTZ', 'time', 'fact', 'occurred_at', { spelling: 'offsets' }],
    ['session_id', 'VARCHAR', 'key', 'session_id', 'visit_id'],
    ['user_id', 'VARCHAR', 'key', 'user_id', 'visitor'],
    ['signup_date', 'DATE', 'time', 'user_id', 'visitor_since', { spelling: 'month_name' }],
    ['is_paying', 'BOOLEAN', 'flag', 'user_id', 'visitor_pays'],
    ['browser', 'VARCHAR', 'category', 'session_id', 'ua_family', { places: ['browser'] }],
    ['is_bot', 'BOOLEAN', 'flag', 'session_id', 'robot'],
    ['page_path', 'VARCHAR', 'key', 'page_path', 'url_path'],
    ['page_title', 'VARCHAR', 'label', 'page_path', 'title'],
    ['event_type', 'VARCHAR', 'category', 'event_type', 'hit_type'],
    ['duration_ms', 'BIGINT', 'measure', 'fact', 'dwell_ms'],
    ['scroll_depth', 'DOUBLE', 'measure', 'fact', 'depth'],
    ['sdk_version', 'VARCHAR', 'constant', 'fact', 'lib'],
  ],
  rows(random, count) {
    const all = sessions(random, Math.ceil(count / 8));
    return many(count, (n) => row(random, n, oneOf(random, all)));
  },
};
