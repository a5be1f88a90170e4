import test, { type TestFn } from 'ava';

/** External services and programs that a machine may be unable to provide. */
export type Part =
  | 'postgres'
  | 'temporal'
  | 'gotosocial'
  | 'pds'
  | 'test-server'
  | 'versitygw'
  | 'gcs-emulator'
  | 'pgbouncer'
  | 'chromium'
  | 'container-checks'
  | 'python-generator'
  | 'typescript-generator'
  | 'api-linters'
  | 'openssl'
  | 'python';

/**
 * `test`, or, if a part is unavailable on this machine, a `test` that skips with the reason in its title.
 * `test/support/run.ts` sets the unavailable parts; it counts a skipped test as failed when `CI` is `true`.
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
    // Hooks must not run either: they use the parts that are unavailable.
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
