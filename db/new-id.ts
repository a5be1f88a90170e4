import crypto from 'node:crypto';

declare module 'node:crypto' {
  /** Available since Node 24.20, but missing in `@types/node` 24. */
  function randomUUIDv7(): string;
}

/** Returns a UUIDv7. Keys grow with time, so indexes stay dense and sort by age. */
export const newId = (): string => crypto.randomUUIDv7();
