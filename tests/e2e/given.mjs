// What a run is given by its environment: a seed to repeat, counts of the long form.

/// A number of the environment, or what holds without one.
export const count = (name, quick) => Number(process.env[name] ?? quick);
export const kSeed = count('STRATA_SEED', Date.now() % 2 ** 31);
