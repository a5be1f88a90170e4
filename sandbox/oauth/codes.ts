import { createHash, randomBytes } from 'node:crypto';
import type { Consent } from './grant.ts';
import { dropOldest } from '../drop-oldest.ts';

/** Lifetime of a code, as on X; the other networks have longer ones. */
const codeMs = 30_000;
/** The most codes kept. */
const maxCodes = 1000;

/** The data of a code. */
export type CodeRequest = Consent & {
  readonly redirectUri: string;
  /** PKCE challenge with S256; null when the app sent none. */
  readonly challenge: string | null;
};

type Code = {
  readonly request: CodeRequest;
  /** The grant that the code was exchanged for; undefined while it is unused. */
  readonly grantId: string | undefined;
};

/** Single-use authorization codes, in memory only. */
export type Codes = {
  issue(request: CodeRequest): string;
  /** @returns undefined for a code of another network, or one that expired unused. */
  find(network: string, code: string): Code | undefined;
  /** Marks a code as used. A second use revokes the grant. */
  use(code: string, grantId: string): void;
};

/** @param now Milliseconds since 1970. */
export function createCodes(now: () => number): Codes {
  const codes = new Map<string, Code & { readonly endsAtMs: number }>();
  return {
    issue(request) {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { request, grantId: undefined, endsAtMs: now() + codeMs });
      dropOldest(codes, maxCodes);
      return code;
    },
    find(network, code) {
      const found = codes.get(code);
      const isGood = found?.grantId !== undefined || (found?.endsAtMs ?? 0) > now();
      return found?.request.network === network && isGood ? found : undefined;
    },
    use(code, grantId) {
      const found = codes.get(code);
      if (found !== undefined) {
        codes.set(code, { ...found, grantId });
      }
    },
  };
}

/** Whether a verifier matches the challenge of its authorization request. Source: RFC 7636, section 4.6. */
export function provesKey({ challenge }: CodeRequest, verifier: string | undefined): boolean {
  if (challenge === null) {
    return verifier === undefined;
  }
  const isWellFormed = /^[\w.~\-]{43,128}$/v.test(verifier ?? '');
  return (
    isWellFormed &&
    createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url') === challenge
  );
}
