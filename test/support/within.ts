/**
 * Waits for something that may never come, so that the test fails with a reason before ava ends the whole file.
 *
 * @param describe What is missing, as a sentence.
 * @throws Error with that sentence when the result takes longer than `limitMs`.
 */
export async function within<T>(
  work: Promise<T>,
  describe: () => string,
  limitMs = 100_000,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`After ${limitMs} ms: ${describe()}`));
  }, limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
