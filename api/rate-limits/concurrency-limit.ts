import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { parseAddress } from '../../runtime/egress/addresses.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Takes a slot of a key and returns its release function, or null when the limit is reached. */
type ConcurrencyLimit = (key: string) => (() => void) | null;

/** In seconds. */
const retryAfter = 5;

/** Limits the concurrent operations of each key in this process. @param most Per key; 0 is unlimited. */
export function createConcurrencyLimit(most: number): ConcurrencyLimit {
  const active = new Map<string, number>();
  return (key) => {
    const before = active.get(key) ?? 0;
    if (most > 0 && before >= most) {
      return null;
    }

    active.set(key, before + 1);
    return () => {
      const left = (active.get(key) ?? 1) - 1;
      active[left === 0 ? 'delete' : 'set'](key, left);
    };
  };
}

/**
 * Holds a slot until the request's response is sent or its connection is closed.
 *
 * @param whose Describes the key in the error message.
 * @throws AppError `rate_limited`
 */
export function acquire(ctx: Context, limit: ConcurrencyLimit, key: string, whose: string): void {
  const release = limit(key);
  if (!release) {
    const message = `Too many requests ${whose} are under way at the same time. Wait until some have ended.`;
    throw new AppError('rate_limited', message, { retryAfter });
  }

  if (ctx.res.closed) {
    release();
  } else {
    ctx.res.once('close', release);
  }
}

/**
 * Limits the concurrent requests of a client address, including several on one connection and those behind a proxy.
 * `PUNCTUAL_TRUST_PROXY` defines the address.
 */
export function limitRequestsPerAddress(most: number): Middleware {
  const limit = createConcurrencyLimit(most);
  return async (ctx, next) => {
    acquire(ctx, limit, clientAddress(ctx.ip), 'from your address');
    await next();
  };
}

type Server = ReturnType<Koa['listen']>;

/** Minimum interval between two warnings, in milliseconds: a refused address keeps trying. */
const logIntervalMs = 60_000;

export type ConnectionLimits = {
  /** Open connections per address; 0 is unlimited. */
  readonly most: number;
  /** With proxies every connection is theirs, so only requests are limited, by the client's address. */
  readonly trustedProxies: number;
  readonly log: Logger;
};

/** Closes connections of an address beyond its limit, before anything is read from them. */
export function limitConnectionsPerAddress(
  server: Server,
  { most, trustedProxies, log }: ConnectionLimits,
): void {
  const tryAcquire = createConcurrencyLimit(trustedProxies > 0 ? 0 : most);
  let loggedMs = -Infinity;
  server.on('connection', (socket) => {
    const address = clientAddress(socket.remoteAddress ?? '');
    const release = tryAcquire(address);
    if (release) {
      socket.once('close', release);
      return;
    }

    socket.destroy();
    if (performance.now() - loggedMs > logIntervalMs) {
      loggedMs = performance.now();
      log.warn(
        { address, most },
        'too many connections from one address, closing new ones (PUNCTUAL_CONNECTIONS_PER_ADDRESS)',
      );
    }
  });
}

/**
 * Returns the key of a client: its IPv4 address, or the /64 prefix of an IPv6 address, because a provider assigns the
 * whole prefix to one client (RFC 6177).
 *
 * @param ip The address that Koa reads, from the socket or a trusted proxy. Some proxies add a port, and the header
 *   may hold anything.
 */
export function clientAddress(ip: string): string {
  const address = parseAddress(withoutPort(ip).replace(/^::ffff:(?=\d+\.)/iv, ''));
  if (address === null) {
    return 'unknown';
  }

  return address.family === 4
    ? address.text
    : `${Buffer.from(address.parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

/** Strips the port of `203.0.113.7:4711` and `[2001:db8::7]:4711`. */
function withoutPort(ip: string): string {
  const { v4, v6 } =
    /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\[\]]*:[^\[\]]*)\](?::\d+)?)$/v.exec(ip)?.groups ?? {};
  return v4 ?? v6 ?? ip;
}
