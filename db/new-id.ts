import crypto from 'node:crypto';

declare module 'node:crypto' {
  /** In Node since 24.20; `@types/node` 24 does not list it yet. */
  function randomUUIDv7(): string;
}

/** A UUIDv7: primary keys grow with time, so indexes stay dense and "newest first" is the key's own order. */
export const newId = (): string => crypto.randomUUIDv7();
