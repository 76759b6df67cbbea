// Made-up hospital visits: a row per visit, patients who come back, codes beside what they mean.
import { oneOf } from '../../e2e/random.mjs';
import { between, chance, day, freeText, localTime, many, money, padded, people }
  from '../values.mjs';

const kDiagnoses = [['J18.9', 'Pneumonia'], ['I10', 'High blood pressure'], ['K35.8',
  'Appendicitis'], ['S52.5', 'Broken wrist'], ['N39.0', 'Urinary infection'], ['R07.4',
  'Chest pain']];

function masters(random, count) {
  const names = people(random, Math.min(380, Math.ceil(count / 3)) + 12);
  const patients = names.slice(12).map((name, n) => ({
    patient_id: `MRN${padded(118 + n * 41, 6)}`,
    patient_name: name,
    birth_date: day(-between(random, 400, 32000)),
    sex: oneOf(random, ['F', 'M']),
  }));
  const physicians = names.slice(0, 12).map((name, n) => ({
    physician_id: `D${201 + n}`, physician_name: `Dr. ${name}`,
  }));
  return { patients, physicians };
}

function row(random, n, count, patient, physician) {
  const arrived = Math.floor(n * 9_000_000 / count) + between(random, 0, 7000);
  const [diagnosis_code, diagnosis] = oneOf(random, kDiagnoses);
  return {
    visit_no: String(880100 + n),
    ...patient,
    admitted_at: localTime(arrived),
    discharged_at: localTime(arrived + between(random, 4000, 900_000)),
    ward: oneOf(random, ['Cardiology', 'Surgery', 'Medicine', 'Emergency']),
    triage_level: String(between(random, 1, 5)),
    diagnosis_code,
    diagnosis,
    ...physician,
    insurer: oneOf(random, ['Nordic Care', 'Allmed', 'Public fund']),
    total_charge: money(random, 90, 24000),
    readmitted: chance(random, 0.12) ? 'Y' : 'N',
    discharge_note: chance(random, 0.6) ? `${freeText(random)}, ${freeText(random)}` : undefined,
  };
}

export const hospitalVisits = {
  name: 'hospital_visits',
  sizes: [120, 800, 1600, 350],
  fact: { name: 'Visit', key: 'visit_no' },
  types: { patient_id: 'Patient', ward: 'Ward', triage_level: 'TriageLevel',
    diagnosis_code: 'Diagnosis', physician_id: 'Physician', insurer: 'Insurer' },
  columns: [
    ['visit_no', 'VARCHAR', 'key', 'fact', 'encounter_no'],
    ['patient_id', 'VARCHAR', 'key', 'patient_id', 'mrn'],
    ['patient_name', 'VARCHAR', 'label', 'patient_id', 'patient'],
    ['birth_date', 'DATE', 'time', 'patient_id', 'dob', { spelling: 'us' }],
    ['sex', 'VARCHAR', 'category', 'patient_id', 'gender'],
    ['admitted_at', 'TIMESTAMP', 'time', 'fact', 'arrival', { spelling: 'dotted_time' }],
    ['discharged_at', 'TIMESTAMP', 'time', 'fact', 'departure', { spelling: 'dotted_time' }],
    ['ward', 'VARCHAR', 'category', 'ward', 'clinic'],
    ['triage_level', 'BIGINT', 'ordinal', 'triage_level', 'acuity_level',
      { or: [{ role: 'category' }, { role: 'key' }, { type: 'VARCHAR', role: 'category' },
        { type: 'VARCHAR', role: 'key' }] }],
    ['diagnosis_code', 'VARCHAR', 'key', 'diagnosis_code', 'icd_code'],
    ['diagnosis', 'VARCHAR', 'label', 'diagnosis_code', 'icd_text'],
    ['physician_id', 'VARCHAR', 'key', 'physician_id', 'doctor_no'],
    ['physician_name', 'VARCHAR', 'label', 'physician_id', 'doctor'],
    ['insurer', 'VARCHAR', 'category', 'insurer', 'payer'],
    ['total_charge', 'DECIMAL', 'measure', 'fact', 'billed_amt'],
    ['readmitted', 'BOOLEAN', 'flag', 'fact', 'came_back'],
    ['discharge_note', 'VARCHAR', 'text', 'fact', 'letter'],
  ],
  rows(random, count) {
    const { patients, physicians } = masters(random, count);
    return many(count, (n) => row(random, n, count, oneOf(random, patients),
                                  oneOf(random, physicians)));
  },
};
