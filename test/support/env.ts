/** A variable that `test/support/run.ts` sets for each test file. */
export function env(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set: run tests with "npm test -- <file>".`);
  }

  return value;
}
