import { randomUUID } from 'node:crypto';
import { dropOldest } from '../../drop-oldest.ts';

/** How long an app's request waits for its person, in seconds. */
const lifeSeconds = 300;
/** How many are remembered. */
const most = 1000;

type Pushed = {
  readonly query: URLSearchParams;
  /** The thumbprint of the key that tokens will be bound to. */
  readonly jkt: string;
};

/** What names a request: `client_id` and `request_uri`. */
type Names = Readonly<Record<string, unknown>>;

/** What apps pushed before their people came (RFC 9126). */
export type PushedRequests = ReturnType<typeof createPushedRequests>;

/** @param now Milliseconds since 1970. */
export function createPushedRequests(now: () => number) {
  const requests = new Map<string, Pushed & { readonly endsAtMs: number }>();
  return {
    /** @returns the answer to the app. */
    add(pushed: Pushed) {
      const uri = `urn:ietf:params:oauth:request_uri:req-${randomUUID()}`;
      requests.set(uri, { ...pushed, endsAtMs: now() + lifeSeconds * 1000 });
      dropOldest(requests, most);
      return { request_uri: uri, expires_in: lifeSeconds };
    },
    /** @returns undefined for one that is not known, has ended or is another app's. */
    find({ client_id: client, request_uri: uri }: Names): Pushed | undefined {
      const found = requests.get(String(uri));
      const isGood = found && found.endsAtMs > now() && found.query.get('client_id') === client;
      return isGood ? found : undefined;
    },
    forget: ({ request_uri: uri }: Names): void => void requests.delete(String(uri)),
  };
}
