// Payroll: a row per employee and pay period. Every sixth employee moves to another department,
// some are promoted, and pay is raised: what is paid is the fact's, whoever it is paid to.
import { below, oneOf } from '../../e2e/random.mjs';
import { between, chance, day, freeText, many, money, month, padded, people } from '../values.mjs';

const kDepartments = ['Engineering', 'Sales', 'Finance', 'People', 'Support'];
const kLocations = ['Oslo', 'Lyon', 'Porto'];
const kTitles = ['Analyst', 'Engineer', 'Advisor', 'Planner'];

function employees(random, count) {
  const names = people(random, count);
  return many(count, (n) => ({
    emp_id: padded(417 + n * 13, 5),
    emp_name: names[n],
    hire_date: day(-between(random, 30, 3000)),
    is_manager: String(chance(random, 0.2)),
    title: below(random, kTitles.length),
    department: oneOf(random, kDepartments),
    location: oneOf(random, kLocations),
    pay_grade: `G${between(random, 3, 7)}`,
    employment_type: oneOf(random, ['full_time', 'part_time', 'contract']),
    base: between(random, 3000, 7000),
    moves: n % 6 === 2,
    rises: n % 7 === 3,
  }));
}

function row(random, employee, period, periods) {
  const late = period * 2 >= periods;
  const next = kDepartments[(kDepartments.indexOf(employee.department) + 1) % 5];
  return {
    pay_period: month(period),
    emp_id: employee.emp_id,
    emp_name: employee.emp_name,
    hire_date: employee.hire_date,
    job_title: kTitles[(employee.title + (employee.rises && late ? 1 : 0)) % kTitles.length],
    department: employee.moves && late ? next : employee.department,
    location: employee.location,
    pay_grade: employee.pay_grade,
    employment_type: employee.employment_type,
    base_salary: (employee.base * (1 + 0.01 * period)).toFixed(2),
    bonus: chance(random, 0.3) ? '0.00' : money(random, 50, 2400),
    currency: oneOf(random, ['EUR', 'EUR', 'NOK']),
    absence_days: String(between(random, 0, 6)),
    is_manager: employee.is_manager,
    legal_entity: 'Fjordline AS',
    remark: chance(random, 0.06) ? freeText(random) : undefined,
  };
}

export const payroll = {
  name: 'payroll',
  sizes: [90, 720, 2400, 160],
  fact: { name: 'Pay' },
  types: { emp_id: 'Employee', department: 'Department', location: 'Location',
    pay_grade: 'PayGrade', employment_type: 'EmploymentType' },
  columns: [
    ['pay_period', 'MONTH', 'time', 'fact', 'month', { spelling: 'month_slash' }],
    ['emp_id', 'VARCHAR', 'key', 'emp_id', 'staff_no'],
    ['emp_name', 'VARCHAR', 'label', 'emp_id', 'worker'],
    ['hire_date', 'DATE', 'time', 'emp_id', 'joined', { spelling: 'dotted' }],
    ['job_title', 'VARCHAR', 'category', 'emp_id', 'position', { places: ['job_title', 'fact'] }],
    ['department', 'VARCHAR', 'category', 'department', 'team'],
    ['location', 'VARCHAR', 'category', 'location', 'office'],
    ['pay_grade', 'VARCHAR', 'category', 'pay_grade', 'salary_band'],
    ['employment_type', 'VARCHAR', 'category', 'employment_type', 'contract_type'],
    ['base_salary', 'DECIMAL', 'measure', 'fact', 'base_pay'],
    ['bonus', 'DECIMAL', 'measure', 'fact', 'extra_pay'],
    ['currency', 'VARCHAR', 'category', 'fact', 'ccy'],
    ['absence_days', 'BIGINT', 'measure', 'fact', 'days_off'],
    ['is_manager', 'BOOLEAN', 'flag', 'emp_id', 'leads_people'],
    ['legal_entity', 'VARCHAR', 'constant', 'fact', 'company'],
    ['remark', 'VARCHAR', 'text', 'fact', 'comment'],
  ],
  rows(random, count) {
    const periods = count < 100 ? 3 : 12;
    const all = employees(random, Math.min(400, Math.ceil(count / periods)));
    return many(count, (n) => row(random, all[n % all.length], Math.floor(n / all.length),
                                  Math.ceil(count / all.length)));
  },
};
