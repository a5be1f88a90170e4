import { spawnSync } from 'node:child_process';
import test, { type TestFn } from 'ava';

/**
 * `test`, or, where a program cannot be run on this machine, a `test` that skips and says so in its title. A skipped
 * test counts as failed on CI, as with `needs`.
 */
export function needsProgram(program: string, ...args: readonly string[]): TestFn {
  if (spawnSync(program, args, { timeout: 30_000 }).status === 0) {
    return test;
  }

  const skip = (title: string, ...rest: readonly unknown[]): void =>
    (test.skip as (...all: readonly unknown[]) => void)(`${title} [no ${program}]`, ...rest);
  return Object.assign(skip, test) as unknown as TestFn;
}
