import { Resolver } from 'node:dns/promises';
import { isAllowed, parseAddress, type Address, type AllowList } from './addresses.ts';
import { blocked, EgressError, egressError } from './egress.ts';
import {
  addressProblem,
  markOwn,
  normalUrl,
  parseUrl,
  problemInPublic,
  targetProblem,
  type OperatorLists,
  type RequestTarget,
} from './target.ts';

const maxLength = 2048;

/** Checks the text of a URL without DNS. @returns null, or why it is refused, in a sentence for the user. */
export function checkUrl(url: string, lists: OperatorLists): string | null {
  const checked = checkText(url, lists);
  return typeof checked === 'string' ? checked : null;
}

/**
 * Checks a URL and its addresses in DNS, within about 5 s.
 *
 * Accepts a public name that DNS cannot resolve now: receivers are often deployed later, and every connection checks
 * the addresses again. Refuses it when only an allowed address could permit it (plain http, a local name, an odd port).
 */
export async function checkDestination(
  url: string,
  guard: EgressGuard & { readonly ownUrl?: string },
): Promise<string | null> {
  const target = checkText(url, guard);
  if (typeof target === 'string') {
    return target;
  }

  try {
    await findAddresses(target, guard);
    return null;
  } catch (error) {
    if (!(error instanceof EgressError)) {
      throw error;
    }

    return error.code === 'dns_error' ? problemInPublic(target) : error.message;
  }
}

/** Returns the target, or the reason for the refusal. Punycode may be longer than the typed name. */
function checkText(
  url: string,
  { ownUrl, ...lists }: OperatorLists & { readonly ownUrl?: string },
): RequestTarget | string {
  const tooLong = `The URL is longer than ${maxLength} characters.`;
  if (url.length > maxLength) {
    return tooLong;
  }

  const parsed = parseUrl(url);
  if ('refusal' in parsed) {
    return parsed.refusal;
  }

  const target = markOwn(parsed.target, ownUrl);
  return targetProblem(target, lists) ?? (normalUrl(url).length > maxLength ? tooLong : target);
}

export type EgressGuard = OperatorLists & { readonly resolve: Resolve };

const lookupTimeoutMs = 5000;
const maxAnswers = 64;

const loopback = ['127.0.0.1', '::1'].map(parseAddress).filter((address) => address !== null);

/**
 * Returns the addresses at which a target may be dialled, at least one. One bad address refuses all: a name that mixes
 * public and private addresses is under attack or broken.
 *
 * @throws EgressError `blocked_destination` or `dns_error`.
 */
export async function findAddresses(
  target: RequestTarget,
  guard: EgressGuard,
): Promise<readonly Address[]> {
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
      : await resolveHost(target.host, guard.resolve);
  const problem = addresses.map((address) => addressProblem(target, address, guard)).find(Boolean);
  if (problem) {
    throw blocked(problem);
  }

  return addresses;
}

/** `localhost` is never resolved by DNS (RFC 6761): it means those loopback addresses that the operator allowed. */
function allowedLoopback(target: RequestTarget, allow: AllowList): readonly Address[] {
  const allowed = loopback.filter((address) => isAllowed(allow, address, target.port));
  return allowed.length > 0 ? allowed : loopback;
}

async function resolveHost(host: string, resolve: Resolve): Promise<readonly Address[]> {
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

/** All addresses of a host name, or none when the name does not exist. Rejects when DNS did not answer. */
export type Resolve = (host: string) => Promise<readonly string[]>;

const noSuchName: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Resolves names with c-ares: no hosts file, no search domains, and no thread of the pool that the file system shares.
 * When the lookup of one family fails, the whole lookup fails, because the guard has to see all addresses.
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
