import { randomBytes } from 'node:crypto';
import type { AccountName } from '../account-name.ts';
import type { Shelf } from '../shelf.ts';
import type { Consent, SandboxGrant, TokenPolicy } from './grant.ts';
import { dropOldest } from '../drop-oldest.ts';

/** The most grants kept, for all networks together; the oldest are dropped. */
const maxGrants = 1000;
/** The most tokens of a kind per grant. */
const maxTokens = 100;

/** Issued tokens. */
export type Issued = {
  readonly grant: SandboxGrant;
  readonly accessToken: string;
  /** Remaining lifetime of the access token; null: does not expire. */
  readonly accessSeconds: number | null;
  readonly issuedAtMs: number;
  readonly refreshToken: string | null;
  /** Remaining lifetime of the refresh token; null: does not expire. */
  readonly refreshSeconds: number | null;
};

/** The state of a token. `spent`: a refresh token that was already used. */
type TokenState =
  | { readonly kind: 'live'; readonly grant: SandboxGrant }
  | { readonly kind: 'ended' | 'revoked' | 'spent'; readonly grant: SandboxGrant }
  | { readonly kind: 'unknown' };

export type Grants = {
  /** Creates a grant with its first tokens. Resolves when it is on disk. @param id Unique. */
  begin(consent: Consent, policy: TokenPolicy, id: string): Promise<Issued>;
  /**
   * Issues new tokens of a grant. A rotating refresh token is marked as spent before any `await`, so that the second of
   * two concurrent requests finds it spent.
   */
  renew(grant: SandboxGrant, policy: TokenPolicy): Promise<Issued>;
  /** Returns the newest valid access token of a grant. */
  repeat(grant: SandboxGrant): Issued | undefined;
  /** Looks up an access token of a network. */
  access(network: string, value: string): TokenState;
  /** Looks up a refresh token of a network. */
  refresh(network: string, value: string): TokenState;
  /** The grants of an account that are not revoked. @param account All accounts when absent. */
  of(network: string, account?: AccountName): readonly SandboxGrant[];
  /** Revokes grants with all their tokens. */
  revoke(grants: readonly SandboxGrant[]): Promise<void>;
  /** Expires all access tokens of these grants. Their refresh tokens stay valid. */
  expire(grants: readonly SandboxGrant[]): Promise<void>;
  /** Expires one access token. */
  endToken(grant: SandboxGrant, accessToken: string): Promise<void>;
};

/** Stores the grants of all networks. @param now Milliseconds since 1970. */
export function createGrants(shelf: Shelf<SandboxGrant>, now: () => number): Grants {
  const { put, get, find, all } = createKept(shelf);
  const issue = async (grant: SandboxGrant, policy: TokenPolicy): Promise<Issued> => {
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
function createKept({ saved, save }: Shelf<SandboxGrant>) {
  const grants = new Map(saved.map((grant) => [grant.id, grant]));
  return {
    put(changed: readonly SandboxGrant[]): Promise<void> {
      for (const grant of changed) {
        grants.set(grant.id, grant);
      }
      dropOldest(grants, maxGrants);
      return save([...grants.values()]);
    },
    get: (id: string): SandboxGrant | undefined => grants.get(id),
    find: (kind: 'accessTokens' | 'refreshTokens', network: string, value: string) =>
      [...grants.values()].find(
        (grant) => grant.network === network && grant[kind].some((token) => token.value === value),
      ),
    all: (): readonly SandboxGrant[] => [...grants.values()],
  };
}

function withTokens(grant: SandboxGrant, policy: TokenPolicy, nowMs: number): Issued {
  const refreshTokens = withRefreshToken(grant, policy, nowMs);
  const refreshEndMs = policy.refresh === 'none' ? null : refreshTokens.at(-1)?.endsAtMs;
  const endMs = endOf(policy.accessSeconds, nowMs);
  const accessToken = {
    value: newToken(),
    // An access token does not outlive its refresh token.
    endsAtMs: endMs && refreshEndMs ? Math.min(endMs, refreshEndMs) : endMs,
    issuedAtMs: nowMs,
  };
  const accessTokens = [...grant.accessTokens, accessToken].slice(-maxTokens);
  return issuedBy({ ...grant, accessTokens, refreshTokens }, accessToken, nowMs);
}

const endOf = (seconds: number | null, nowMs: number): number | null =>
  seconds === null ? null : nowMs + seconds * 1000;

function withRefreshToken(
  { refreshTokens }: SandboxGrant,
  { refresh, refreshSeconds }: TokenPolicy,
  nowMs: number,
): SandboxGrant['refreshTokens'] {
  if (refresh === 'none' || (refresh === 'fixed' && refreshTokens.length > 0)) {
    return refreshTokens;
  }
  const fresh = { value: newToken(), endsAtMs: endOf(refreshSeconds, nowMs), isSpent: false };
  return [...refreshTokens.map(asSpent), fresh].slice(-maxTokens);
}

/** The newest access token, if it is still valid. */
function latestOf(grant: SandboxGrant, nowMs: number): Issued | undefined {
  const token = grant.accessTokens.at(-1);
  return token && stateOf(grant, token, nowMs).kind === 'live'
    ? issuedBy(grant, token, nowMs)
    : undefined;
}

function issuedBy(
  grant: SandboxGrant,
  access: SandboxGrant['accessTokens'][number],
  nowMs: number,
): Issued {
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

const asSpent = (token: SandboxGrant['refreshTokens'][number]) => ({ ...token, isSpent: true });

const newToken = (): string => randomBytes(32).toString('base64url');

function stateOf(
  grant: SandboxGrant | undefined,
  token: SandboxGrant['accessTokens'][number] | SandboxGrant['refreshTokens'][number] | undefined,
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

/** Returns the grant with an earlier expiry of some access tokens. */
function endingAt(
  endMs: number,
  grant: SandboxGrant,
  isMeant: (token: SandboxGrant['accessTokens'][number]) => boolean,
): SandboxGrant {
  const accessTokens = grant.accessTokens.map((token) =>
    isMeant(token) && (token.endsAtMs ?? endMs) >= endMs ? { ...token, endsAtMs: endMs } : token,
  );
  return { ...grant, accessTokens };
}
