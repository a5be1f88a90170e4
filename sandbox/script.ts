import type { AccountName } from './account-name.ts';
import type { Directive } from './directives.ts';
import type { Grants } from './oauth/grants.ts';
import { createOrders, type Attempt, type Order, type Orders } from './orders.ts';

const busyMs = 5000;
const lateMs = 20_000;
/** Long enough for the first look of a busy worker. */
const alteredMs = 10 * 60_000;
/** How often the state of a file is asked before it is ready. */
const slowPolls = 3;

/** What becomes of a request that would create posts. Each network says it in its own words. */
export type Fate =
  | { readonly kind: 'revoked' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'refuse'; readonly reason: string }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'busy'; readonly resetMs: number }
  /**
   * The posts are created. @param answer What the caller gets: the network's answer, none, or an error.
   * @param hiddenUntilMs Look-ups do not show them before; null: they do at once.
   */
  | {
      readonly kind: 'take';
      readonly answer: 'normal' | 'none' | 'error';
      readonly hiddenUntilMs: number | null;
      /** Before it look-ups show them otherwise than they were sent, so that nothing tells what became of them. */
      readonly alteredUntilMs: number | null;
    };

export type Script = {
  /** Asked once for each request that would create posts, after all other checks. */
  fateOf(attempt: Attempt): Fate;
  /** How the work on a file goes: how often it is not ready when asked, and whether it fails in the end. */
  processingOf(attempt: Attempt): { readonly polls: number; readonly fails: boolean };
  /** Whether a post is made private, whatever was asked for. */
  locks(attempt: Attempt): boolean;
  /** Whether the network refuses the tokens that do not come of a grant. */
  isRevoked(network: string): boolean;
  /** What a control call set, if it did; it stays as it is. */
  orderOf(network: string, directive: Directive): Order | undefined;
  /** Whether a control call set this for the next request; that one is then counted. */
  takeOrder(network: string, directive: Directive): boolean;
  /**
   * Applies a directive to the next requests; a count of 0 takes it back.
   *
   * `revoke` and `expire` apply at once. @param account Of these two, whose grants; all accounts when left out.
   */
  set(order: Order, account?: AccountName): void;
  orders(): readonly Order[];
  /** Forgets every order, and gives back every token. */
  clear(): void;
};

/**
 * Failures on demand, so that a newcomer can watch what the product does about them.
 *
 * @param now Milliseconds since 1970.
 */
export function createScript(now: () => number, grants: EndableGrants): Script {
  const orders = createOrders();
  const { take } = orders;
  const { isRevoked, endGrants, endingOf } = createEndings(orders, grants);

  return {
    fateOf: (attempt) =>
      endingOf(attempt) ?? refusalOf(orders, attempt, now) ?? takenBy(orders, attempt, now),
    processingOf: (attempt) => ({
      polls: take('slow', attempt) ? slowPolls : 0,
      fails: take('broken', attempt) !== null,
    }),
    locks: (attempt) => take('locked', attempt) !== null,
    isRevoked,
    orderOf: orders.get,
    takeOrder: (network, directive) => orders.takeOrder(network, directive) !== undefined,
    set(order, account) {
      const { network, directive, count } = order;
      if (count > 0 && (directive === 'revoke' || directive === 'expire')) {
        endGrants(directive, network, account);
      }
      if (directive !== 'expire' && account === undefined) {
        orders.set(order);
      }
    },
    orders: orders.all,
    clear: orders.clear,
  };
}

function refusalOf({ take }: Orders, attempt: Attempt, now: () => number): Fate | undefined {
  const refused = take('refuse', attempt);
  if (refused) {
    return { kind: 'refuse', reason: refused.reason ?? 'The text has #sandbox-refuse in it' };
  }
  if (take('duplicate', attempt)) {
    return { kind: 'duplicate' };
  }
  const isBusy = take('busy-always', attempt) ?? take('busy', attempt);
  return isBusy ? { kind: 'busy', resetMs: now() + busyMs } : undefined;
}

function takenBy({ take }: Orders, attempt: Attempt, now: () => number): Fate {
  const taken = {
    kind: 'take',
    answer: 'none',
    hiddenUntilMs: null,
    alteredUntilMs: null,
  } as const;
  if (take('unconfirmed', attempt)) {
    return { ...taken, alteredUntilMs: now() + alteredMs };
  }
  if (take('late', attempt)) {
    return { ...taken, hiddenUntilMs: now() + lateMs };
  }
  if (take('lost', attempt)) {
    return taken;
  }
  return { ...taken, answer: take('error', attempt) ? 'error' : 'normal' };
}

type EndableGrants = Pick<Grants, 'of' | 'revoke' | 'expire'>;

/** How tokens end before their time. */
function createEndings(orders: Orders, grants: EndableGrants) {
  const isRevoked = (network: string): boolean => orders.get(network, 'revoke') !== undefined;
  const endGrants = (how: 'revoke' | 'expire', network: string, account?: AccountName): void => {
    // They end at once. Should they not reach the disk, the next change will tell.
    grants[how](grants.of(network, account)).catch(() => undefined);
  };
  /** What becomes of a request whose text ends the tokens of its account, or whose token has no grant and was revoked. */
  const endingOf = (attempt: Attempt): Fate | undefined => {
    const { network, by } = attempt;
    const { account, hasGrant } = by ?? { account: 'demo', hasGrant: false };
    if (!hasGrant && isRevoked(network)) {
      return { kind: 'revoked' };
    }
    if (orders.asks('revoke', attempt)) {
      if (!hasGrant) {
        orders.set({ network, directive: 'revoke', count: 1 });
      }
      endGrants('revoke', network, account);
      return { kind: 'revoked' };
    }
    if (hasGrant && orders.asks('expire', attempt)) {
      endGrants('expire', network, account);
      return { kind: 'ended' };
    }
    return undefined;
  };
  return { isRevoked, endGrants, endingOf };
}
