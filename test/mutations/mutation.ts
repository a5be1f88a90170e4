/** A fault that is put into the product's code on purpose, and the tests that should notice. */
export type Mutation = {
  /** What is wrong then, as one would say it in a report of the bug. */
  readonly fault: string;
  /** Of the product, from the root of the tree on. */
  readonly file: string;
  /** Exact text, which occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Subjects (a folder of test files, or the one file of that name), or globs of test files. */
  readonly tests: readonly string[];
};

/** The mutations of one file. */
export const mutationsOf = (
  file: string,
  tests: readonly string[],
  faults: readonly (readonly [fault: string, find: string, replace: string])[],
): Mutation[] => faults.map(([fault, find, replace]) => ({ fault, file, find, replace, tests }));
