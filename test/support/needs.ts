import test, { type TestFn } from 'ava';

/** Parts of the outside world that a machine may not be able to provide. */
export type Part = 'gotosocial' | 'pds' | 'test-server';

/**
 * `test`, or, where a part cannot be had on this machine, a `test` that skips and says why in its title. What is
 * missing comes from `test/support/run.ts`.
 */
export function needs(...parts: readonly Part[]): TestFn {
  const missing: Record<string, string> = JSON.parse(process.env['PUNCTUAL_TEST_MISSING'] ?? '{}');
  const [part] = parts.filter((name) => name in missing);
  if (part === undefined) {
    return test;
  }

  const skip = (title: string, ...rest: unknown[]): void =>
    (test.skip as (...args: unknown[]) => void)(`${title} [no ${part}: ${missing[part]}]`, ...rest);
  return Object.assign(skip, test) as unknown as TestFn;
}
