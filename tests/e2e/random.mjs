/// Numbers from 0 to 1 without 1, repeatable from a printed seed (mulberry32).
export function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/// Of numbers in [0, 1) as randomFrom() makes them: a whole number below `count`, one of a list, a
/// list in another order.
export const below = (random, count) => Math.floor(random() * count);
export const oneOf = (random, list) => list[below(random, list.length)];
export function shuffled(random, list) {
  const all = [...list];
  for (let n = all.length - 1; n > 0; --n) {
    const other = below(random, n + 1);
    [all[n], all[other]] = [all[other], all[n]];
  }
  return all;
}
