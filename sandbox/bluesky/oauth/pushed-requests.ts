import { randomUUID } from 'node:crypto';
import { dropOldest } from '../../drop-oldest.ts';

/** How long a pushed request is valid, in seconds. */
const lifeSeconds = 300;
/** The most requests remembered. */
const most = 1000;

type Pushed = {
  readonly query: URLSearchParams;
  /** The thumbprint of the key that the tokens will be bound to. */
  readonly jkt: string;
};

/** Identifies a request: `client_id` and `request_uri`. */
type Names = Readonly<Record<string, unknown>>;

/** Pushed authorization requests (RFC 9126). */
export type PushedRequests = ReturnType<typeof createPushedRequests>;

/** @param now Milliseconds since 1970. */
export function createPushedRequests(now: () => number) {
  const requests = new Map<string, Pushed & { readonly endsAtMs: number }>();
  return {
    /** @returns the response's body. */
    add(pushed: Pushed) {
      const uri = `urn:ietf:params:oauth:request_uri:req-${randomUUID()}`;
      requests.set(uri, { ...pushed, endsAtMs: now() + lifeSeconds * 1000 });
      dropOldest(requests, most);
      return { request_uri: uri, expires_in: lifeSeconds };
    },
    /** @returns undefined for a request that is unknown, expired or another app's. */
    find({ client_id: client, request_uri: uri }: Names): Pushed | undefined {
      const found = requests.get(String(uri));
      const isGood = found && found.endsAtMs > now() && found.query.get('client_id') === client;
      return isGood ? found : undefined;
    },
    forget: ({ request_uri: uri }: Names): void => void requests.delete(String(uri)),
  };
}
