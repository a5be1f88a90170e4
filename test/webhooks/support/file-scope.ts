import type { ExecutionContext, TestFn } from 'ava';

/**
 * What lives as long as a file of tests, for parts that register their end on a test: one API is enough for tests
 * that each make a workspace of their own. Call it before the first test.
 */
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
