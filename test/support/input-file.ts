import { readFileSync } from 'node:fs';

/** A file of `test/support/inputs`. */
export const inputFile = (name: string): Buffer =>
  readFileSync(new URL(`inputs/${name}`, import.meta.url));
