// Readers that go on for as long as some work takes.

/// `readers` loops of `read`, which is told its number, until `work` has ended. Answers how often
/// each has read; fails as soon as one of them does.
export async function whileReading(readers, read, work) {
  let done = false;
  const loops = Promise.all(Array.from({ length: readers }, async (_, n) => {
    let count = 0;
    while (!done) {
      await read(n);
      ++count;
    }
    return count;
  }));
  try {
    await Promise.race([work(), loops]);
  } finally {
    done = true;
  }
  return loops;
}
