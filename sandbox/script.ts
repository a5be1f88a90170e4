import type { AccountName } from './account-name.ts';
import type { Directive } from './directives.ts';
import type { Grants } from './oauth/grants.ts';
import { createOrders, type Attempt, type Order, type Orders } from './orders.ts';

const busyMs = 5000;
const lateMs = 20_000;
/** Long enough for the first reconcile of a busy worker. */
const alteredMs = 10 * 60_000;
/** Number of polls before a file is ready. */
const slowPolls = 3;

/** The outcome of a request that would create posts. Each network has its own response for it. */
export type Fate =
  | { readonly kind: 'revoked' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'refuse'; readonly reason: string }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'busy'; readonly resetMs: number }
  /**
   * The posts are created. @param answer The response: the network's, none, or an error.
   * @param hiddenUntilMs Look-ups hide the posts until then; null: they show them immediately.
   */
  | {
      readonly kind: 'take';
      readonly answer: 'normal' | 'none' | 'error';
      readonly hiddenUntilMs: number | null;
      /** Until then, look-ups show the posts changed, so that they cannot be identified. */
      readonly alteredUntilMs: number | null;
    };

export type Script = {
  /** Called once per request that would create posts, after all other checks. */
  fateOf(attempt: Attempt): Fate;
  /** The processing of a file: how many polls until it is ready, and whether it fails. */
  processingOf(attempt: Attempt): { readonly polls: number; readonly fails: boolean };
  /** Whether a post becomes private in spite of the requested visibility. */
  locks(attempt: Attempt): boolean;
  /** Whether the network refuses its fixed tokens. */
  isRevoked(network: string): boolean;
  /** The order of a control call, if any. Does not count down. */
  orderOf(network: string, directive: Directive): Order | undefined;
  /** Whether a control call has an order for this request. Counts it down. */
  takeOrder(network: string, directive: Directive): boolean;
  /**
   * Applies a directive to the next requests; a count of 0 removes it.
   *
   * `revoke` and `expire` apply immediately. @param account The account of these two; all accounts when absent.
   */
  set(order: Order, account?: AccountName): void;
  orders(): readonly Order[];
  /** Removes all orders, and makes the fixed tokens valid again. */
  clear(): void;
};

/**
 * Simulates failures, to show how the product handles them.
 *
 * @param now Milliseconds since 1970.
 */
export function createScript(now: () => number, grants: EndableGrants): Script {
  const orders = createOrders();
  const { take } = orders;
  const { isRevoked, endGrants, endingOf } = createEndings(orders, grants);

  return {
    fateOf: (attempt) =>
      endingOf(attempt) ?? refusalOf(orders, attempt, now) ?? fateOfOrder(orders, attempt, now),
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

function fateOfOrder({ take }: Orders, attempt: Attempt, now: () => number): Fate {
  const base = {
    kind: 'take',
    answer: 'none',
    hiddenUntilMs: null,
    alteredUntilMs: null,
  } as const;
  if (take('unconfirmed', attempt)) {
    return { ...base, alteredUntilMs: now() + alteredMs };
  }
  if (take('late', attempt)) {
    return { ...base, hiddenUntilMs: now() + lateMs };
  }
  if (take('lost', attempt)) {
    return base;
  }
  return { ...base, answer: take('error', attempt) ? 'error' : 'normal' };
}

type EndableGrants = Pick<Grants, 'of' | 'revoke' | 'expire'>;

/** Ends tokens early. */
function createEndings(orders: Orders, grants: EndableGrants) {
  const isRevoked = (network: string): boolean => orders.get(network, 'revoke') !== undefined;
  const endGrants = (how: 'revoke' | 'expire', network: string, account?: AccountName): void => {
    // They end immediately in memory. If this write fails, the next change writes them too.
    grants[how](grants.of(network, account)).catch(() => undefined);
  };
  /** The outcome when the text ends the account's tokens, or the fixed token is revoked; undefined otherwise. */
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
