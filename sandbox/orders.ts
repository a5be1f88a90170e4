import type { AccountName } from './account-name.ts';
import { directives, directivesIn, type Directive, type TextDirective } from './directives.ts';
import { dropOldest } from './drop-oldest.ts';

/** The most keys remembered: far more than posts that are being retried at a time. */
const maxKeys = 1000;

/** A request that would create posts. */
export type Attempt = {
  readonly network: string;
  /** All texts that may contain a directive. */
  readonly texts: readonly string[];
  /** The same for every attempt of these posts, where the network has such a key; otherwise the text. */
  readonly key: string;
  /** The signer; the demo account with its fixed token when absent. */
  readonly by?: Signer | undefined;
};

/** The account that makes a request. */
export type Signer = {
  readonly account: AccountName;
  /** Whether it signed in by OAuth, so that its tokens can expire. */
  readonly hasGrant: boolean;
};

/** A directive set by a control call. */
export type Order = {
  readonly network: string;
  readonly directive: Directive;
  /** Remaining number of requests. */
  readonly count: number;
  /** For `refuse`. */
  readonly reason?: string | undefined;
  /** For `lifetime`. */
  readonly seconds?: number | undefined;
};

export type Orders = ReturnType<typeof createOrders>;

/** The directives of texts and control calls. */
export function createOrders() {
  const orders = new Map<string, Order>();
  const seen = createSeen();
  const get = (network: string, directive: Directive): Order | undefined =>
    orders.get(keyOf(network, directive));
  const set = (order: Order): void => {
    const key = keyOf(order.network, order.directive);
    if (order.count > 0) {
      orders.set(key, order);
    } else {
      orders.delete(key);
    }
  };
  const takeOrder = (network: string, directive: Directive): Order | undefined => {
    const order = get(network, directive);
    if (order !== undefined) {
      set({ ...order, count: order.count - 1 });
    }
    return order;
  };
  /** Whether a text has a directive that applies now. */
  const asks = (directive: TextDirective, { network, texts, key }: Attempt): boolean => {
    const { once } = directives[directive];
    return (
      directivesIn(texts).has(directive) &&
      (!once || seen.isFirst(`${network} ${directive} ${key}`))
    );
  };
  /** The order for a directive, or an empty one when a text has it; null when neither does. */
  const take = (directive: TextDirective, attempt: Attempt): Partial<Order> | null =>
    takeOrder(attempt.network, directive) ?? (asks(directive, attempt) ? {} : null);
  const all = (): readonly Order[] => [...orders.values()];
  return { get, set, takeOrder, asks, take, all, clear: () => orders.clear() };
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
