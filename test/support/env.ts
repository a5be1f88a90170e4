/** What `test/support/run.ts` hands to each test file. */
export function env(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set: run tests with "npm test -- <file>".`);
  }

  return value;
}
