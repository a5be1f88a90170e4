import { jsonOf } from '../answer.ts';
import type { Way } from '../ask.ts';
import { readDid } from './answers.ts';
import { refusal } from './errors.ts';
import { query } from './xrpc.ts';

/** The DID behind a handle, or null when there is none. */
export type ResolveHandle = (handle: string) => Promise<string | null>;

/**
 * Makes a resolver that asks the account's own server, and for each handle once.
 *
 * It throws NetworkError when the server cannot resolve now: a post is not edited later, so that a mention which is
 * left out for a passing reason would be lost for good.
 */
export function handleResolver(way: Way): ResolveHandle {
  const known = new Map<string, string | null>();
  return async (handle) => {
    let did = known.get(handle);
    if (did === undefined) {
      did = await resolve(way, handle);
      known.set(handle, did);
    }

    return did;
  };
}

async function resolve(way: Way, handle: string): Promise<string | null> {
  const method = 'com.atproto.identity.resolveHandle';
  const response = await query(way, method, { handle }, 'prepare');
  if (response.status === 429 || response.status >= 500) {
    throw refusal(response, 'prepare', []);
  }

  return (response.status === 200 && readDid(jsonOf(response))?.did) || null;
}
