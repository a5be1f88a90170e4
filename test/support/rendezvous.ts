import type { ExecutionContext, TestFn } from 'ava';

/**
 * Something that happens once to all tests of a file: such as an outage, which each of them prepares and looks at in
 * its own way. A test that ended is not waited for, whether it came here or failed before.
 *
 * @param happen What is done when all are here. @returns how a test says that it is: it resolves when that is done.
 */
export function rendezvous<T>(
  test: TestFn,
  happen: () => Promise<T>,
): (t: ExecutionContext) => Promise<T> {
  let expected = 0;
  const here = new Set<ExecutionContext>();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => undefined); // Those who wait get it.
  let hasBegun = false;
  const look = (): void => {
    if (!hasBegun && here.size > 0 && here.size >= expected) {
      hasBegun = true;
      happen().then(resolve, reject);
    }
  };
  test.beforeEach(() => {
    expected += 1;
  });
  test.afterEach.always(() => {
    expected -= 1;
    look();
  });
  return (t) => {
    here.add(t);
    look();
    return promise;
  };
}
