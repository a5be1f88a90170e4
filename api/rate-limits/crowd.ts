import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { parseAddress } from '../../runtime/egress/address.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Counts one more of a key, and returns the function that ends it; null where there are too many. */
export type Crowd = (key: string) => (() => void) | null;

/** In seconds. */
const retryAfter = 5;

/** Counts what each key has under way at the same time, in this process. @param most Of one key; 0 is no bound. */
export function createCrowd(most: number): Crowd {
  const inside = new Map<string, number>();
  return (key) => {
    const before = inside.get(key) ?? 0;
    if (most > 0 && before >= most) {
      return null;
    }

    inside.set(key, before + 1);
    return () => {
      const left = (inside.get(key) ?? 1) - 1;
      inside[left === 0 ? 'delete' : 'set'](key, left);
    };
  };
}

/**
 * Counts a request until its answer is taken or its connection is gone.
 *
 * @param whose In words, for the refusal.
 * @throws AppError `rate_limited`
 */
export function enterCrowd(ctx: Context, crowd: Crowd, key: string, whose: string): void {
  const leave = crowd(key);
  if (!leave) {
    const message = `Too many requests ${whose} are under way at the same time. Wait for some of them.`;
    throw new AppError('rate_limited', message, { retryAfter });
  }

  if (ctx.res.closed) {
    leave();
  } else {
    ctx.res.once('close', leave);
  }
}

/**
 * Bounds the requests of one client address, also where several come on one connection, or all on a proxy's. Which address
 * that is, `PUNCTUAL_TRUST_PROXY` says.
 */
export function boundAddresses(most: number): Middleware {
  const crowd = createCrowd(most);
  return async (ctx, next) => {
    enterCrowd(ctx, crowd, clientAddress(ctx.ip), 'from your address');
    await next();
  };
}

type Server = ReturnType<Koa['listen']>;

/** In milliseconds. An address that is refused is refused often. */
const quietMs = 60_000;

export type ConnectionBounds = {
  /** Open at the same time by one address; 0 is no bound. */
  readonly most: number;
  /** Before the API. All connections are theirs, so requests are bounded by the client's address instead. */
  readonly trustedProxies: number;
  readonly log: Logger;
};

/** Closes connections beyond those that one address may have open, before anything of them is read. */
export function boundConnections(
  server: Server,
  { most, trustedProxies, log }: ConnectionBounds,
): void {
  const enter = createCrowd(trustedProxies > 0 ? 0 : most);
  let loggedMs = -Infinity;
  server.on('connection', (socket) => {
    const address = clientAddress(socket.remoteAddress ?? '');
    const leave = enter(address);
    if (leave) {
      socket.once('close', leave);
      return;
    }

    socket.destroy();
    if (performance.now() - loggedMs > quietMs) {
      loggedMs = performance.now();
      log.warn(
        { address, most },
        'an address has too many connections open; more are closed (PUNCTUAL_CONNECTIONS_PER_ADDRESS)',
      );
    }
  });
}

/**
 * What counts as one client: an IPv4 address, or the 64 bits of an IPv6 address that a provider hands out as a
 * whole (RFC 6177), as its holder can call from 2^64 addresses.
 *
 * @param ip Also with a port, as some proxies write it. As Koa reads it: the socket's, or what a trusted proxy says, which may be anything.
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

/** `203.0.113.7:4711` and `[2001:db8::7]:4711` without their ports; everything else as it is. */
function withoutPort(ip: string): string {
  const { v4, v6 } =
    /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\[\]]*:[^\[\]]*)\](?::\d+)?)$/v.exec(ip)?.groups ?? {};
  return v4 ?? v6 ?? ip;
}
