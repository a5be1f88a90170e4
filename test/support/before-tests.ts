import type { ExecutionContext, TestFn } from 'ava';

// Separate from `kit.ts`, so that test files without an API do not load one.

/**
 * Starts something before the tests of a file and ends it after them. Call it before the first test.
 *
 * @returns a getter of the result, which throws before the start is complete.
 */
export function beforeTests<T>(
  test: TestFn,
  start: (scope: ExecutionContext) => Promise<T>,
): () => T {
  const scope = fileScope(test);
  let started: { readonly value: T } | undefined;
  test.before(async () => {
    started = { value: await start(scope) };
  });
  return () => {
    if (!started) {
      throw new Error(
        'It starts before the first test. Call this inside a test, not while the file loads.',
      );
    }

    return started.value;
  };
}

/** An ExecutionContext for a whole test file. Its teardowns run after all tests, in reverse order. */
export function fileScope(test: TestFn): ExecutionContext {
  const ends: (() => unknown)[] = [];
  test.after.always(async () => {
    for (const end of ends.toReversed()) {
      await end();
    }
  });
  const scope: Pick<ExecutionContext, 'teardown'> = { teardown: (end) => void ends.push(end) };
  return scope as ExecutionContext;
}
