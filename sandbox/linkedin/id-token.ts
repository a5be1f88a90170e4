import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

const hourSeconds = 60 * 60;

/**
 * ID tokens of OpenID Connect, signed with RS256. The key exists until the sandbox stops. @param now Milliseconds since
 * 1970.
 */
export function createIdTokens(now: () => number) {
  let key: KeyObject | undefined;
  return {
    issue(issuer: string, claims: object): string {
      // Key generation is slow, and few runs need it.
      key ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
      const iat = Math.floor(now() / 1000);
      const body = { iss: issuer, ...claims, iat, exp: iat + hourSeconds };
      const signed = `${encoded({ typ: 'JWT', alg: 'RS256', kid: 'sandbox' })}.${encoded(body)}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
    },
  };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
