import { directives, directivesIn, type Directive } from './directives.ts';
import { dropOldest } from './drop-oldest.ts';

const busyMs = 5000;
const lateMs = 20_000;
const blindMs = 60_000;
/** How often the state of a file is asked before it is ready. */
const slowPolls = 3;
/** How many keys are remembered: far more than are ever being retried at one time. */
const maxKeys = 1000;

/** A request that would create posts. */
export type Attempt = {
  readonly network: string;
  /** All texts in which a directive may stand. */
  readonly texts: readonly string[];
  /** The same for every try of these posts, where the network has such a key; otherwise the text. */
  readonly key: string;
};

/** What becomes of a request that would create posts. Each network says it in its own words. */
export type Fate =
  | { readonly kind: 'revoked' }
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
    };

/** What a control call told the sandbox to do. */
type Order = {
  readonly network: string;
  readonly directive: Directive;
  /** How many more requests it applies to. */
  readonly count: number;
  /** Of `refuse`. */
  readonly reason?: string | undefined;
};

export type Script = {
  /** Asked once for each request that would create posts, after all other checks. */
  fateOf(attempt: Attempt): Fate;
  /** How the work on a file goes: how often it is not ready when asked, and whether it fails in the end. */
  processingOf(attempt: Attempt): { readonly polls: number; readonly fails: boolean };
  /** Whether a post is made private, whatever was asked for. */
  locks(attempt: Attempt): boolean;
  /** Whether the network's tokens are refused. */
  isRevoked(network: string): boolean;
  /** Whether the network's look-ups are to fail (503). */
  isBlind(network: string): boolean;
  /** Applies a directive to the next requests; a count of 0 takes it back. */
  set(order: Order): void;
  orders(): readonly Order[];
  /** Forgets every order, and gives back every token. */
  clear(): void;
};

/** Failures on demand, so that a newcomer can watch what the product does about them. @param now Milliseconds since 1970. */
export function createScript(now: () => number): Script {
  const { orders, set, take } = createOrders();
  const blindUntilMs = new Map<string, number>();
  const isRevoked = (network: string): boolean => orders.has(keyOf(network, 'revoked'));

  const taken = (attempt: Attempt): Fate => {
    if (take('unconfirmed', attempt)) {
      blindUntilMs.set(attempt.network, now() + blindMs);
      return { kind: 'take', answer: 'none', hiddenUntilMs: null };
    }
    if (take('late', attempt)) {
      return { kind: 'take', answer: 'none', hiddenUntilMs: now() + lateMs };
    }
    if (take('lost', attempt)) {
      return { kind: 'take', answer: 'none', hiddenUntilMs: null };
    }
    const answer = take('error', attempt) ? 'error' : 'normal';
    return { kind: 'take', answer, hiddenUntilMs: null };
  };

  return {
    fateOf(attempt) {
      const { network } = attempt;
      if (isRevoked(network) || take('revoked', attempt)) {
        set({ network, directive: 'revoked', count: 1 });
        return { kind: 'revoked' };
      }
      const refused = take('refuse', attempt);
      if (refused) {
        return { kind: 'refuse', reason: refused.reason ?? 'The text has #sandbox-refuse in it' };
      }
      if (take('duplicate', attempt)) {
        return { kind: 'duplicate' };
      }
      if (take('busy-always', attempt) ?? take('busy', attempt)) {
        return { kind: 'busy', resetMs: now() + busyMs };
      }
      return taken(attempt);
    },
    processingOf: (attempt) => ({
      polls: take('slow', attempt) ? slowPolls : 0,
      fails: take('broken', attempt) !== null,
    }),
    locks: (attempt) => take('locked', attempt) !== null,
    isRevoked,
    isBlind: (network) => (blindUntilMs.get(network) ?? 0) > now(),
    set,
    orders: () => [...orders.values()],
    clear() {
      orders.clear();
      blindUntilMs.clear();
    },
  };
}

function createOrders() {
  const orders = new Map<string, Order>();
  const seen = createSeen();
  const set = (order: Order): void => {
    const key = keyOf(order.network, order.directive);
    if (order.count > 0) {
      orders.set(key, order);
    } else {
      orders.delete(key);
    }
  };
  /** The order or the text that asks for a directive now; null when nothing does. */
  const take = (directive: Directive, { network, texts, key }: Attempt): Partial<Order> | null => {
    const order = orders.get(keyOf(network, directive));
    if (order !== undefined) {
      set({ ...order, count: order.count - 1 });
      return order;
    }
    const isAsked = directivesIn(texts).has(directive);
    const { once } = directives[directive];
    return isAsked && (!once || seen.isFirst(`${network} ${directive} ${key}`)) ? {} : null;
  };
  return { orders, set, take };
}

const keyOf = (network: string, directive: Directive): string => `${network} ${directive}`;

/** Remembers the newest keys. */
function createSeen(): { isFirst(key: string): boolean } {
  const seen = new Set<string>();
  return {
    isFirst(key) {
      const isFirst = !seen.has(key);
      seen.add(key);
      dropOldest(seen, maxKeys);
      return isFirst;
    },
  };
}
