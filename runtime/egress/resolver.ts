import { Resolver } from 'node:dns/promises';

/**
 * All addresses of a host name, in order of preference. Empty when the name does not exist or has none.
 * Rejects when that could not be found out.
 */
export type Resolve = (host: string) => Promise<readonly string[]>;

const noSuchName: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Asks DNS by c-ares: no hosts file, no search domains, and no thread of the pool that the file system shares,
 * so that one slow name server holds up nothing else.
 *
 * IPv4 comes first, because a machine without an IPv6 route is more common than one without IPv4. A family that
 * could not be looked up fails the whole: with half of the answers nobody knows whether all are good.
 *
 * @param options.servers Other name servers than the system's, such as `127.0.0.1:5353`.
 */
export function createResolver(
  options: { servers?: readonly string[]; timeoutMs?: number } = {},
): Resolve {
  const resolver = new Resolver({ timeout: options.timeoutMs ?? 2000, tries: 2 });
  if (options.servers) {
    resolver.setServers(options.servers);
  }

  return async (host) => {
    const families = await Promise.all([
      resolver.resolve4(host).catch(noneOrThrow),
      resolver.resolve6(host).catch(noneOrThrow),
    ]);
    return families.flat();
  };
}

function noneOrThrow(error: NodeJS.ErrnoException): string[] {
  if (noSuchName.has(error.code)) {
    return [];
  }

  throw error;
}
