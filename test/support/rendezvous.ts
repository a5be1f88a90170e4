import type { ExecutionContext, TestFn } from 'ava';
import { within } from './within.ts';

/** In milliseconds. Shorter than ava's timeout, and longer than one wait of a test before it is ready. */
const patienceMs = 300_000;

/**
 * Runs something once for all tests of a file, such as an outage, when every test has prepared for it. A test that has
 * ended is no longer waited for, even if it failed before it was ready.
 *
 * @param happen Runs when all tests are ready. @returns the function by which a test reports that it is ready; it
 *   resolves when `happen` is done.
 */
export function rendezvous<T>(
  test: TestFn,
  happen: () => Promise<T>,
): (t: ExecutionContext) => Promise<T> {
  let expected = 0;
  const here = new Set<ExecutionContext>();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => undefined); // The waiting tests get the error.
  const begun = Promise.withResolvers<void>();
  let hasBegun = false;
  const check = (): void => {
    if (!hasBegun && here.size > 0 && here.size >= expected) {
      hasBegun = true;
      begun.resolve();
      happen().then(resolve, reject);
    }
  };
  test.beforeEach(() => {
    expected += 1;
  });
  test.afterEach.always(() => {
    expected -= 1;
    check();
  });
  return async (t) => {
    here.add(t);
    check();
    await within(begun.promise, () => `${here.size} of ${expected} tests are ready.`, patienceMs);
    return promise;
  };
}
