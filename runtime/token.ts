import { createHash, randomInt } from 'node:crypto';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const randomBase62 = (length: number): string =>
  Array.from({ length }, () => base62[randomInt(base62.length)]).join('');

/** `svc_live_` and 32 random base62 characters: 190 bits. */
export const newApiKey = (): string => `svc_live_${randomBase62(32)}`;

/** `whsec_` and 32 random base62 characters. */
export const newSigningSecret = (): string => `whsec_${randomBase62(32)}`;

/** In the link to a media file, which needs no key. 32 random base62 characters. */
export const newLinkToken = (): string => randomBase62(32);

/** What is kept of an API key. Plain SHA-256 is enough, since the key is random and long. */
export const hashApiKey = (key: string): string => sha256Hex(key);

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
