import { createHmac, timingSafeEqual } from 'node:crypto';
import { Refusal } from '../../refusal.ts';

/** The claims of a service token: one method at one server. */
type ServiceClaims = {
  /** The account's DID. */
  readonly iss: string;
  /** The DID of the server. */
  readonly aud: string;
  /** The method. */
  readonly lxm: string;
  /** In seconds since 1970. */
  readonly exp: number;
};

export type ServiceTokens = {
  issue(claims: ServiceClaims): string;
  /** @returns the account's DID. @throws Refusal 401 for a token that is not valid for this method and server. */
  check(authorization: string, wanted: Pick<ServiceClaims, 'aud' | 'lxm'>): string;
};

/** Issues and checks tokens of an account's server for other servers. @param now Milliseconds since 1970. */
export function createServiceTokens(secret: string, now: () => number): ServiceTokens {
  const sign = (text: string) => createHmac('sha256', `${secret} service`).update(text).digest();
  return {
    issue(claims) {
      const signed = [{ typ: 'JWT', alg: 'HS256' }, claims].map(encode).join('.');
      return `${signed}.${sign(signed).toString('base64url')}`;
    },
    check(authorization, { aud, lxm }) {
      const token = /^bearer\s+(?<token>\S+)$/iv.exec(authorization)?.groups?.['token'] ?? '';
      const [header = '', claims = '', signature = ''] = token.split('.');
      const expected = sign(`${header}.${claims}`);
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new Refusal(401, 'Authentication Required', { code: 'AuthMissing' });
      }
      // The signature proves that we made the claims, so their form needs no check.
      const read: ServiceClaims = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
      if (read.aud !== aud || read.lxm !== lxm || read.exp * 1000 <= now()) {
        throw new Refusal(401, 'The token is not good for this method', { code: 'BadJwt' });
      }
      return read.iss;
    },
  };
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
