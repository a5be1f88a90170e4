import { createHash, randomBytes } from 'node:crypto';
import type { Consent } from './grant.ts';
import { dropOldest } from '../drop-oldest.ts';

/** How long a code lives. X lets its codes live as long; the others are slower. */
const codeMs = 30_000;
/** How many codes are remembered. */
const maxCodes = 1000;

/** What a code stands for. */
export type CodeRequest = Consent & {
  readonly redirectUri: string;
  /** Of PKCE, by S256; null when the app sent none. */
  readonly challenge: string | null;
};

type Code = {
  readonly request: CodeRequest;
  /** The grant that was made of it; undefined while it is unused. */
  readonly grantId: string | undefined;
};

/** Codes that stand for what a person allowed, good once. They end with the sandbox. */
export type Codes = {
  issue(request: CodeRequest): string;
  /** @returns undefined for a code that was not issued at this network, or has ended unused. */
  find(network: string, code: string): Code | undefined;
  /** Marks a code as used. Whoever brings it once more shall lose the grant. */
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

/** Whether a verifier fits the challenge of its authorization request. Source: RFC 7636, section 4.6. */
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
