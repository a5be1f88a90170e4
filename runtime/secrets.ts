import {
  createCipheriv,
  createDecipheriv,
  hash,
  hkdfSync,
  randomBytes,
  randomInt,
} from 'node:crypto';

/** Seals secrets for the database. A secret sealed for one purpose cannot be opened for another. */
export type Sealer = {
  /** Identifies the key, also in sealed texts: the first 8 hex digits of its SHA-256. */
  readonly keyId: string;
  hasSealed(sealed: string): boolean;
  /** @param purpose Names the row and field, such as `channel/<id>/credentials`. */
  seal(plain: string, purpose: string): string;
  /** @throws Error when the text was sealed under another key or purpose, or was tampered with. */
  open(sealed: string, purpose: string): string;
  /**
   * Derives key bytes of this installation, always the same for a purpose; they do not reveal the key (HKDF, RFC 5869).
   */
  derive(purpose: string, lengthBytes: number): Uint8Array;
};

/** @param keyHex 32 bytes in hex: AES-256-GCM. */
export function createSealer(keyHex: string): Sealer {
  const key = Buffer.from(keyHex, 'hex');
  const keyId = hash('sha256', key).slice(0, 8);

  return {
    keyId,
    seal(plain, purpose) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      const parts = [nonce, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'));
      return ['v1', keyId, ...parts].join('.');
    },
    hasSealed: (sealed) => sealed.split('.')[1] === keyId,
    open(sealed, purpose) {
      const [version, sealedBy, nonce, tag, data] = sealed.split('.');
      if (version !== 'v1' || sealedBy === undefined || !nonce || !tag || data === undefined) {
        throw new Error(`The stored value of ${purpose} is not a sealed secret.`);
      }

      if (sealedBy !== keyId) {
        throw new Error(
          `A secret (${purpose}) was sealed under another SECRET_KEY (${sealedBy}; this one is ${keyId}).`,
        );
      }

      // Without a fixed length, Node accepts a tag of 4 bytes, which can be guessed.
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
        authTagLength: 16,
      })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(Buffer.from(tag, 'base64url'));
      return (
        decipher.update(Buffer.from(data, 'base64url'), undefined, 'utf8') + decipher.final('utf8')
      );
    },
    derive: (purpose, lengthBytes) =>
      new Uint8Array(hkdfSync('sha256', key, '', `punctual/${purpose}`, lengthBytes)),
  };
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const randomBase62 = (length: number): string =>
  Array.from({ length }, () => base62[randomInt(base62.length)]).join('');

/** `svc_live_` and 32 random base62 characters: 190 bits. */
export const newApiKey = (): string => `svc_live_${randomBase62(32)}`;

export const operatorKeyPrefix = 'svc_admin_';

export const newOperatorKey = (): string => `${operatorKeyPrefix}${randomBase62(32)}`;

export const newSigningSecret = (): string => `whsec_${randomBase62(32)}`;

/** The token in the public link to a media file: 32 random base62 characters. */
export const newLinkToken = (): string => randomBase62(32);

/** The stored form of an API key. Plain SHA-256 is enough, since the key is long and random. */
export const hashApiKey = (key: string): string => sha256Hex(key);

export const sha256Hex = (text: string): string => hash('sha256', text);
