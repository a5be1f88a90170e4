import { randomBytes } from 'node:crypto';
import type { AccountName } from '../account-name.ts';
import type { Shelf } from '../shelf.ts';
import type { Consent, Grant, TokenPolicy } from './grant.ts';
import { dropOldest } from '../drop-oldest.ts';

/** How many grants are kept, all networks together. The oldest go first. */
const maxGrants = 1000;
/** How many tokens of a kind a grant keeps. */
const maxTokens = 100;

/** Tokens as they are handed out. */
export type Issued = {
  readonly grant: Grant;
  readonly accessToken: string;
  /** Left of the access token's life; null: it has no end. */
  readonly accessSeconds: number | null;
  readonly issuedAtMs: number;
  readonly refreshToken: string | null;
  /** Left of the refresh token's life; null: it has no end. */
  readonly refreshSeconds: number | null;
};

/** What became of a token. `spent`: a refresh token that was used already. */
type TokenState =
  | { readonly kind: 'live'; readonly grant: Grant }
  | { readonly kind: 'ended' | 'revoked' | 'spent'; readonly grant: Grant }
  | { readonly kind: 'unknown' };

export type Grants = {
  /** Makes a grant of what a person allowed, with its first tokens. Resolves when it is on disk. @param id Unique. */
  begin(consent: Consent, policy: TokenPolicy, id: string): Promise<Issued>;
  /**
   * Hands out new tokens of a grant. With a rotating refresh token, the newest one is spent before anything is
   * awaited: of two requests with the same token, the second finds it spent.
   */
  renew(grant: Grant, policy: TokenPolicy): Promise<Issued>;
  /** The newest access token of a grant once more. */
  repeat(grant: Grant): Issued | undefined;
  /** Whose access token this is, at a network. */
  access(network: string, value: string): TokenState;
  /** Whose refresh token this is, at a network. */
  refresh(network: string, value: string): TokenState;
  /** The grants of an account that are not revoked. @param account All accounts when left out. */
  of(network: string, account?: AccountName): readonly Grant[];
  /** Takes grants back: none of their tokens is good any more. */
  revoke(grants: readonly Grant[]): Promise<void>;
  /** Ends all access tokens of these grants now. Their refresh tokens stay good. */
  expire(grants: readonly Grant[]): Promise<void>;
  /** Ends one access token now. */
  endToken(grant: Grant, accessToken: string): Promise<void>;
};

/** What apps may do at the networks. @param now Milliseconds since 1970. */
export function createGrants(shelf: Shelf<Grant>, now: () => number): Grants {
  const { put, get, find, all } = createKept(shelf);
  const issue = async (grant: Grant, policy: TokenPolicy): Promise<Issued> => {
    const issued = withTokens(grant, policy, now());
    await put([issued.grant]);
    return issued;
  };

  return {
    begin(consent, policy, id) {
      const fresh = { ...consent, id, accessTokens: [], refreshTokens: [], isRevoked: false };
      return issue(fresh, policy);
    },
    renew: (grant, policy) => issue(get(grant.id) ?? grant, policy),
    repeat: (grant) => latestOf(grant, now()),
    access(network, value) {
      const grant = find('accessTokens', network, value);
      const token = grant?.accessTokens.find((one) => one.value === value);
      return stateOf(grant, token, now());
    },
    refresh(network, value) {
      const grant = find('refreshTokens', network, value);
      const token = grant?.refreshTokens.find((one) => one.value === value);
      const state = stateOf(grant, token, now());
      return state.kind === 'live' && token?.isSpent ? { ...state, kind: 'spent' } : state;
    },
    of: (network, account) =>
      all().filter(
        (grant) =>
          grant.network === network &&
          !grant.isRevoked &&
          (account === undefined || grant.account === account),
      ),
    revoke: (revoked) => put(revoked.map((grant) => ({ ...grant, isRevoked: true }))),
    expire: (expired) => put(expired.map((grant) => endingAt(now(), grant, () => true))),
    endToken: (grant, accessToken) =>
      put([endingAt(now(), grant, ({ value }) => value === accessToken)]),
  };
}

/** The newest grants, in memory and on disk. */
function createKept({ saved, save }: Shelf<Grant>) {
  const grants = new Map(saved.map((grant) => [grant.id, grant]));
  return {
    put(changed: readonly Grant[]): Promise<void> {
      for (const grant of changed) {
        grants.set(grant.id, grant);
      }
      dropOldest(grants, maxGrants);
      return save([...grants.values()]);
    },
    get: (id: string): Grant | undefined => grants.get(id),
    find: (kind: 'accessTokens' | 'refreshTokens', network: string, value: string) =>
      [...grants.values()].find(
        (grant) => grant.network === network && grant[kind].some((token) => token.value === value),
      ),
    all: (): readonly Grant[] => [...grants.values()],
  };
}

function withTokens(grant: Grant, policy: TokenPolicy, nowMs: number): Issued {
  const refreshTokens = withRefreshToken(grant, policy, nowMs);
  const refreshEndMs = policy.refresh === 'none' ? null : refreshTokens.at(-1)?.endsAtMs;
  const endMs = endOf(policy.accessSeconds, nowMs);
  const accessToken = {
    value: newToken(),
    // No access outlives what it is renewed by.
    endsAtMs: endMs && refreshEndMs ? Math.min(endMs, refreshEndMs) : endMs,
    issuedAtMs: nowMs,
  };
  const accessTokens = [...grant.accessTokens, accessToken].slice(-maxTokens);
  return issuedBy({ ...grant, accessTokens, refreshTokens }, accessToken, nowMs);
}

const endOf = (seconds: number | null, nowMs: number): number | null =>
  seconds === null ? null : nowMs + seconds * 1000;

function withRefreshToken(
  { refreshTokens }: Grant,
  { refresh, refreshSeconds }: TokenPolicy,
  nowMs: number,
): Grant['refreshTokens'] {
  if (refresh === 'none' || (refresh === 'fixed' && refreshTokens.length > 0)) {
    return refreshTokens;
  }
  const fresh = { value: newToken(), endsAtMs: endOf(refreshSeconds, nowMs), isSpent: false };
  return [...refreshTokens.map(asSpent), fresh].slice(-maxTokens);
}

/** The newest access token, if it is still good. */
function latestOf(grant: Grant, nowMs: number): Issued | undefined {
  const token = grant.accessTokens.at(-1);
  return token && stateOf(grant, token, nowMs).kind === 'live'
    ? issuedBy(grant, token, nowMs)
    : undefined;
}

function issuedBy(grant: Grant, access: Grant['accessTokens'][number], nowMs: number): Issued {
  const secondsTo = (endMs: number | null | undefined): number | null =>
    endMs ? Math.floor((endMs - nowMs) / 1000) : null;
  const refresh = grant.refreshTokens.at(-1);
  return {
    grant,
    accessToken: access.value,
    accessSeconds: secondsTo(access.endsAtMs),
    issuedAtMs: access.issuedAtMs,
    refreshToken: refresh?.value ?? null,
    refreshSeconds: secondsTo(refresh?.endsAtMs),
  };
}

const asSpent = (token: Grant['refreshTokens'][number]) => ({ ...token, isSpent: true });

const newToken = (): string => randomBytes(32).toString('base64url');

function stateOf(
  grant: Grant | undefined,
  token: Grant['accessTokens'][number] | Grant['refreshTokens'][number] | undefined,
  nowMs: number,
): TokenState {
  if (grant === undefined || token === undefined) {
    return { kind: 'unknown' };
  }
  if (grant.isRevoked) {
    return { kind: 'revoked', grant };
  }
  const hasEnded = token.endsAtMs !== null && token.endsAtMs <= nowMs;
  return { kind: hasEnded ? 'ended' : 'live', grant };
}

/** The grant with an earlier end of some access tokens. */
function endingAt(
  endMs: number,
  grant: Grant,
  isMeant: (token: Grant['accessTokens'][number]) => boolean,
): Grant {
  const accessTokens = grant.accessTokens.map((token) =>
    isMeant(token) && (token.endsAtMs ?? endMs) >= endMs ? { ...token, endsAtMs: endMs } : token,
  );
  return { ...grant, accessTokens };
}
