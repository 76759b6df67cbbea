// Made-up pay of a few people over a few months, as two systems would export it.
const kFirst = ['Ada', 'Bruno', 'Carla', 'Dario', 'Elin', 'Farid', 'Gita', 'Hugo', 'Ines', 'Jonas'];
const kLast = ['Almeida', 'Berg', 'Costa', 'Dahl'];
const kDepartments = ['Engineering', 'Sales', 'Finance', 'Support', 'Legal'];
const kLocations = ['Oslo', 'Lyon', 'Porto', 'Gent'];
const kGrades = ['G3', 'G4', 'G5', 'G6'];
const kTypes = ['full_time', 'part_time', 'contract'];

/// Twenty people over three months, each with the same department and salary in all of them.
export function compensation() {
  const rows = [];
  for (const period of ['2026-04', '2026-05', '2026-06']) {
    for (let n = 0; n < 20; ++n) {
      rows.push({
        employee_id: `E${1000 + 7 * n}`,
        employee_name: `${kFirst[n % 10]} ${kLast[(3 * n + (n > 9 ? 1 : 0)) % 4]}`,
        department: kDepartments[(n * 7 + 3) % 5],
        location: kLocations[(n * 3 + (n >> 3)) % 4],
        pay_grade: kGrades[(n * 5 + (n >> 2)) % 4],
        employment_type: kTypes[(n * n + 2 * (n >> 1)) % 3],
        annual_salary: `${48_000 + 1_237 * n}.00`,
        bonus: `${(n * 350 + Number(period.slice(5)) * 137) % 4_000}.00`,
        pay_period: period,
      });
    }
  }
  return rows;
}

const kOtherNames = {
  employee_id: 'staff_no', employee_name: 'staff_label', department: 'team', location: 'office',
  pay_grade: 'band', employment_type: 'contract', annual_salary: 'yearly', bonus: 'extra',
  pay_period: 'month',
};

/// The same facts under other names, in another order of columns and rows.
export const staff = () => compensation().toReversed().map((row) => Object.fromEntries(
    Object.entries(row).toReversed().map(([name, value]) => [kOtherNames[name], value])));
