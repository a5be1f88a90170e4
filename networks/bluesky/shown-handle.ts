import type { Egress } from '../../runtime/egress/egress.ts';
import { resolveHandle } from './resolve-handle.ts';

type Named = {
  readonly did: string;
  /** As the account's server reports it. */
  readonly handle: string;
  readonly baseUrl: string;
};

/**
 * The handle to display. A server may claim any handle for its accounts, so a handle that is proved neither by the
 * server's own name nor by the resolver is followed by the server: `me.example (pds.example)`.
 */
export async function shownHandle(
  http: Egress,
  { did, handle, baseUrl }: Named,
  resolverUrl: string | undefined,
): Promise<string> {
  const { host, hostname } = new URL(baseUrl);
  const name = handle.toLowerCase();
  const isOwnName = name === hostname || name.endsWith(`.${hostname}`);
  const isProved =
    isName.test(name) &&
    (isOwnName || isReserved(name) || (await didBehind(name, http, resolverUrl)) === did);
  return isProved ? handle : `${handle} (${host})`;
}

const isName = /^[a-z0-9\-]+(?:\.[a-z0-9\-]+)+$/v;

/** Reserved names (RFC 6761), which atproto uses for development. */
const isReserved = (handle: string): boolean => handle.endsWith('.test');

const didBehind = async (
  handle: string,
  http: Egress,
  baseUrl: string | undefined,
): Promise<string | null> =>
  baseUrl === undefined
    ? null
    : resolveHandle({ http, baseUrl, signal: AbortSignal.timeout(5000) }, handle).catch(() => null);
