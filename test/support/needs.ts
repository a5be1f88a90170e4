import test, { type TestFn } from 'ava';

/** Parts of the outside world that a machine may not be able to provide. */
export type Part =
  | 'postgres'
  | 'temporal'
  | 'gotosocial'
  | 'pds'
  | 'app-view'
  | 'test-server'
  | 'versitygw'
  | 'gcs-emulator'
  | 'pgbouncer'
  | 'chromium'
  | 'container-checks'
  | 'python-generator'
  | 'typescript-generator'
  | 'openssl'
  | 'python';

/**
 * `test`, or, where a part cannot be had on this machine, a `test` that skips and says why in its title. What is
 * missing comes from `test/support/run.ts`, which counts a skipped test as failed when `CI` is `true`.
 */
export function needs(...parts: readonly Part[]): TestFn {
  const missing: Record<string, string> = JSON.parse(process.env['PUNCTUAL_TEST_MISSING'] ?? '{}');
  const part = parts.find((name) => name in missing);
  if (part === undefined) {
    return test;
  }

  const [reason] = (missing[part] ?? '').split('\n');
  const note = `[no ${part}: ${reason}]`;
  const { skip } = test;
  const serialSkip = test.serial.skip;
  const { before, beforeEach, after, afterEach } = test;
  return Object.assign(titled(skip, note), test, {
    serial: Object.assign(titled(serialSkip, note), test.serial),
    // Hooks prepare for tests that will not run, with parts that are not there.
    before: Object.assign(before.skip, before),
    beforeEach: Object.assign(beforeEach.skip, beforeEach),
    after: Object.assign(after.skip, after),
    afterEach: Object.assign(afterEach.skip, afterEach),
  }) as unknown as TestFn;
}

const titled =
  (skip: unknown, note: string) =>
  (title: string, ...rest: readonly unknown[]) =>
    (skip as (...args: readonly unknown[]) => void)(`${title} ${note}`, ...rest);
