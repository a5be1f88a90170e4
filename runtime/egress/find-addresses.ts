import { Resolver } from 'node:dns/promises';
import { parseAddress, type Address } from './address.ts';
import { blocked, egressError } from './egress-error.ts';
import { isAllowed, type AllowList } from './operator-lists.ts';
import { addressProblem, targetProblem, type OperatorLists } from './target-policy.ts';
import type { Target } from './target.ts';

export type Guard = OperatorLists & { readonly resolve: Resolve };

const lookupTimeoutMs = 5000;
const maxAnswers = 64;

const loopback = ['127.0.0.1', '::1'].map(parseAddress).filter((address) => address !== null);

/**
 * The addresses at which a target may be dialled, at least one.
 *
 * One bad answer refuses the whole: a name that mixes public and private addresses is under attack or broken.
 *
 * @throws EgressError `blocked_destination`, its message a sentence for the URL's author; `dns_error` when the
 * name has no address or none could be found within 5 s.
 */
export async function findAddresses(target: Target, guard: Guard): Promise<readonly Address[]> {
  const refusal = targetProblem(target, guard);
  if (refusal !== null) {
    throw blocked(refusal);
  }

  if (target.address) {
    return [target.address];
  }

  const addresses =
    target.host === 'localhost'
      ? allowedLoopback(target, guard.allow)
      : await lookUp(target.host, guard.resolve);
  const problem = addresses.map((address) => addressProblem(target, address, guard)).find(Boolean);
  if (problem) {
    throw blocked(problem);
  }

  return addresses;
}

/**
 * `localhost` is never asked of DNS (RFC 6761). It stands for the two loopback addresses, of which those count
 * that the operator allowed: with `127.0.0.1/32:3000` alone, `http://localhost:3000` means that one.
 */
function allowedLoopback(target: Target, allow: AllowList): readonly Address[] {
  const allowed = loopback.filter((address) => isAllowed(allow, address, target.port));
  return allowed.length > 0 ? allowed : loopback;
}

async function lookUp(host: string, resolve: Resolve): Promise<readonly Address[]> {
  const answers = await withinTime(async () => resolve(host)).catch((error: unknown) => {
    throw unresolved(error);
  });
  if (answers.length > maxAnswers) {
    throw blocked('The host of the URL has too many addresses.');
  }

  const addresses = answers.map(parseAddress).filter((address) => address !== null);
  if (addresses.length === 0 || addresses.length < answers.length) {
    throw unresolved(undefined);
  }

  return addresses;
}

async function withinTime<T>(lookup: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error('The lookup took too long.')),
    lookupTimeoutMs,
  );
  try {
    return await Promise.race([lookup(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const unresolved = (cause: unknown) => egressError('dns_error', { maybeSent: false, cause });

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
 * could not be looked up fails the whole: half of the answers do not tell whether all are good.
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
