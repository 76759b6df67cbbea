// A kb's generations as they lie in its folder, beside the product's own idea of them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

const kTwoHoursInSeconds = 2 * 3600;  // what is younger than one is kept

const numberOf = (name) => Number(/^(\d{6})\.duckdb$/.exec(name)[1]);

/// Makes a generation's file old enough to be collected.
export function makeOld(file) {
  const when = Date.now() / 1000 - kTwoHoursInSeconds;
  utimesSync(file, when, when);
}

/// Makes every generation old enough to be collected by the next publish: all but the newest three
/// are.
export function ageGenerations(kbFolder) {
  const folder = join(kbFolder, 'generations');
  for (const name of readdirSync(folder)) makeOld(join(folder, name));
}

/// Looks at a kb's generations from time to time, and fails when a number came free, was given
/// twice, or changed in any way but to become a tombstone.
export class GenerationWatch {
  constructor(kbFolder) {
    this.folder = join(kbFolder, 'generations');
    this.digests = new Map();  // by number; empty: a tombstone
    this.look();
  }

  look() {
    const now = new Map(readdirSync(this.folder).map((name) => {
      const bytes = readFileSync(join(this.folder, name));
      const digest = bytes.length === 0 ? '' : createHash('sha256').update(bytes).digest('hex');
      return [numberOf(name), digest];
    }));
    for (const [number, digest] of this.digests) {
      assert.ok(now.has(number), `the number ${number} came free`);
      const same = now.get(number) === digest || now.get(number) === '';
      assert.ok(same, `generation ${number} was overwritten`);
    }
    this.digests = now;
  }

  get numbers() { return [...this.digests.keys()].sort((a, b) => a - b); }
  get tombstones() { return this.numbers.filter((number) => this.digests.get(number) === ''); }
  get newest() { return this.numbers.at(-1); }
}
