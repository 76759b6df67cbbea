// Support tickets as a help desk exports them: a row per ticket, long texts, agents who change team
// and accounts that write again.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, companies, freeText, localTime, many, people } from '../values.mjs';

const kTeams = ['First line', 'Network', 'Billing help', 'Field'];

function masters(random, count) {
  const agents = people(random, between(random, 8, 16)).map((name, n) => ({
    'Assignee ID': `ag${310 + n * 4}`, 'Assignee': name, home: n % 4, moves: n % 5 === 1,
  }));
  const accounts = companies(random, Math.min(70, Math.ceil(count / 5))).map((name, n) => ({
    'Account No': `C${20400 + n * 3}`,
    'Account': name,
    'Account Level': oneOf(random, ['gold', 'silver', 'basic']),
  }));
  return { agents, accounts };
}

function row(random, n, count, agent, account) {
  const opened = Math.floor(n * 9_000_000 / count) + between(random, 0, 3000);
  const solved = chance(random, 0.7);
  const late = n * 2 > count;
  return {
    'Key': `SUP-${1042 + n}`,
    'Created': localTime(opened),
    'Resolved': solved ? localTime(opened + between(random, 600, 500_000)) : undefined,
    'Priority': oneOf(random, ['Low', 'Medium', 'Medium', 'High']),
    'Status': solved ? 'Done' : oneOf(random, ['Open', 'Waiting']),
    'Ticket Type': oneOf(random, ['Incident', 'Question', 'Request']),
    'Assignee ID': agent['Assignee ID'],
    'Assignee': agent.Assignee,
    'Team': kTeams[(agent.home + (agent.moves && late ? 1 : 0)) % 4],
    ...account,
    'Product': oneOf(random, ['Router', 'Portal', 'App', 'Backup']),
    'Minutes Spent': String(between(random, 3, 400)),
    'Times Reopened': String(oneOf(random, [0, 0, 0, 1, 2])),
    'SLA Breached': oneOf(random, ['Yes', 'No', 'No']),
    'Description': `${freeText(random)}; ${freeText(random)}`,
  };
}

export const supportTickets = {
  name: 'support_tickets',
  sizes: [100, 600, 1500, 300],
  fact: { name: 'Ticket', key: 'Key' },
  types: { 'Ticket Type': 'TicketType', 'Assignee ID': 'Agent', 'Team': 'Team',
    'Account No': 'Account', 'Account Level': 'AccountLevel', 'Product': 'Product' },
  columns: [
    ['Key', 'VARCHAR', 'key', 'fact', 'Ticket No'],
    ['Created', 'TIMESTAMP', 'time', 'fact', 'Opened', { spelling: 'iso_local' }],
    ['Resolved', 'TIMESTAMP', 'time', 'fact', 'Closed', { spelling: 'dotted_time' }],
    ['Priority', 'VARCHAR', 'category', 'fact', 'Urgency', { or: [{ role: 'ordinal' }] }],
    ['Status', 'VARCHAR', 'category', 'fact', 'State'],
    ['Ticket Type', 'VARCHAR', 'category', 'Ticket Type', 'Issue Type'],
    ['Assignee ID', 'VARCHAR', 'key', 'Assignee ID', 'Agent Id'],
    ['Assignee', 'VARCHAR', 'label', 'Assignee ID', 'Agent'],
    ['Team', 'VARCHAR', 'category', 'Team', 'Department'],
    ['Account No', 'VARCHAR', 'key', 'Account No', 'Client Code'],
    ['Account', 'VARCHAR', 'label', 'Account No', 'Client'],
    ['Account Level', 'VARCHAR', 'category', 'Account Level', 'Client Level'],
    ['Product', 'VARCHAR', 'category', 'Product', 'Component'],
    ['Minutes Spent', 'BIGINT', 'measure', 'fact', 'Effort Min'],
    ['Times Reopened', 'BIGINT', 'measure', 'fact', 'Reopen Count'],
    ['SLA Breached', 'BOOLEAN', 'flag', 'fact', 'Late'],
    ['Description', 'VARCHAR', 'text', 'fact', 'Details'],
  ],
  rows(random, count) {
    const { agents, accounts } = masters(random, count);
    return many(count, (n) => row(random, n, count, oneOf(random, agents),
                                  oneOf(random, accounts)));
  },
};
