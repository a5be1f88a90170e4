import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { ComAtprotoServerCreateSession } from '@atproto/api';
import type { AccountName } from '../account-name.ts';
import { account, accountNamed, accountOf } from './account.ts';
import type { SandboxDeps } from '../deps.ts';
import { Refusal } from '../refusal.ts';

/** Lifetimes of a PDS. */
const lives = {
  access: { typ: 'at+jwt', scope: 'com.atproto.appPass', seconds: 2 * 60 * 60 },
  refresh: { typ: 'refresh+jwt', scope: 'com.atproto.refresh', seconds: 90 * 24 * 60 * 60 },
} as const;
export type TokenKind = keyof typeof lives;

export type SessionTokens = {
  issue(kind: TokenKind): string;
  /**
   * Checks an `Authorization` header.
   *
   * @throws Refusal, like a PDS: 401 when there is none, 400 `InvalidToken` or `ExpiredToken`.
   */
  check(kind: TokenKind, authorization: string): void;
};

/** JSON Web Tokens, signed with HMAC-SHA256. @param now Milliseconds since 1970. */
export function createTokens(secret: string, now: () => number): SessionTokens {
  const seconds = () => Math.floor(now() / 1000);
  const sign = (text: string) => createHmac('sha256', secret).update(text).digest();
  return {
    issue(kind) {
      const { typ, scope, seconds: life } = lives[kind];
      const iat = seconds();
      const claims = { scope, sub: account.did, jti: randomUUID(), iat, exp: iat + life };
      const signed = `${encode({ typ, alg: 'HS256' })}.${encode(claims)}`;
      return `${signed}.${sign(signed).toString('base64url')}`;
    },
    check(kind, authorization) {
      const token = /^bearer\s+(?<token>\S+)$/iv.exec(authorization)?.groups?.['token'];
      if (token === undefined) {
        throw new Refusal(401, 'Authentication Required', { code: 'AuthMissing' });
      }
      const [header = '', claims = '', signature = ''] = token.split('.');
      const expected = sign(`${header}.${claims}`);
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new Refusal(400, 'Token could not be verified', { code: 'InvalidToken' });
      }
      // The signature proves that we made the claims, so their form needs no check.
      const { scope, exp } = decode(claims);
      if (scope !== lives[kind].scope) {
        throw new Refusal(400, 'Bad token scope', { code: 'InvalidToken' });
      }
      if (exp <= seconds()) {
        throw new Refusal(400, 'Token has expired', { code: 'ExpiredToken' });
      }
    },
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(text: string): { scope: string; exp: number } {
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
}

/** @throws Refusal 401 for anything but the demo account and its app password, and while that is revoked. */
export function createSession(
  deps: SandboxDeps & { readonly tokens: SessionTokens },
  input: ComAtprotoServerCreateSession.InputSchema,
) {
  const isRight = isDemo(input.identifier) && input.password === account.appPassword;
  if (!isRight || deps.script.isRevoked('bluesky')) {
    throw new Refusal(401, 'Invalid identifier or password', { code: 'AuthenticationRequired' });
  }
  return newSession(deps);
}

/** A pair of tokens. Earlier tokens stay valid until they expire. */
export function newSession({ tokens }: { readonly tokens: SessionTokens }) {
  return {
    ...describeSession('demo'),
    accessJwt: tokens.issue('access'),
    refreshJwt: tokens.issue('refresh'),
  };
}

export function describeSession(name: AccountName) {
  const { did, handle } = accountOf(name);
  return { did, handle, emailConfirmed: true, active: true };
}

/** Whether a DID or a handle is the demo account's. Handles ignore case. */
function isDemo(actor: string): boolean {
  return accountNamed(actor) === 'demo';
}
