import type { ExecutionContext, TestFn } from 'ava';

// Apart from `kit.ts`, for files of tests that need no API and need not load one.

/**
 * Starts something before the tests of a file and ends it after them. Call it before the first test.
 *
 * @returns how to get what was started; throws before it was.
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
      throw new Error('It is started before the first test, and not while the file is loaded.');
    }

    return started.value;
  };
}

/** The life of a test file, for parts that register their end on a test. Ends come in reverse order. */
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
