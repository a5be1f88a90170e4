import type { ExecutionContext } from 'ava';
import { blueskyOauth } from '../../../../networks/bluesky/oauth/oauth.ts';
import type {
  Authorized,
  Begun,
  Grant,
  Oauth,
  OauthContext,
  Refresh,
} from '../../../../networks/oauth/contract.ts';
import { type Egress, type EgressRequest, EgressError } from '../../../../runtime/egress/egress.ts';
import { blueskyAccount, type BlueskyTestAccount } from '../../../support/accounts.ts';
import { env } from '../../../support/env.ts';
import { authorizeAtPds } from '../../../support/pds-browser.ts';
import { beginning, contextFor } from '../../oauth/context.ts';

/** Bluesky's OAuth with the test's PDS and PLC directory instead of the network's. */
export const oauthOfTests = (resolverUrl = env('PUNCTUAL_TEST_PDS_URL')): Oauth =>
  blueskyOauth({ plcUrl: env('PUNCTUAL_TEST_PLC_URL'), resolverUrl });

const publicUrl = 'http://127.0.0.1:3000';
export const redirectUri = `${publicUrl}/connect/callback/bluesky`;

export const contextOf = (t: ExecutionContext, differently: Partial<OauthContext> = {}) =>
  contextFor(t, [env('PUNCTUAL_TEST_PDS_URL'), env('PUNCTUAL_TEST_PLC_URL')], {
    publicUrl,
    ...differently,
  });

export const begin = (context: OauthContext, handle: string, oauth = oauthOfTests()) =>
  oauth.begin({ ...beginning(context, { handle }), redirectUriFor: () => redirectUri });

export const finish = (context: OauthContext, { kept }: Begun, back: URL): Promise<Authorized> =>
  oauthOfTests().finish({ ...context, answer: back.searchParams, redirectUri, kept });

type ConnectedByOauth = Authorized & {
  readonly person: BlueskyTestAccount;
  readonly context: OauthContext;
  /** @param differently Replaces parts of the request, for example egress. */
  readonly refresh: (grant: Grant, differently?: Partial<Refresh>) => Promise<Grant>;
};

let last: Promise<unknown> = Promise.resolve();

/**
 * Connects an account of one test, as its owner does in a browser. Sign-ins are serial: each costs the PDS a second of
 * processor time, and thirty at once would exceed the library's timeouts.
 */
export function connectedByOauth(t: ExecutionContext): Promise<ConnectedByOauth> {
  const connected = last.then(() => connectInTurn(t));
  last = connected.catch(() => undefined);
  return connected;
}

async function connectInTurn(t: ExecutionContext): Promise<ConnectedByOauth> {
  const person = await blueskyAccount();
  const context = contextOf(t);
  const begun = await begin(context, person.handle);
  const authorized = await finish(context, begun, await authorizeAtPds(begun.url, person));
  const { baseUrl, did: remoteId } = person;
  return {
    ...authorized,
    person,
    context,
    refresh: (grant, differently) =>
      oauthOfTests().refresh({ ...context, baseUrl, remoteId, grant, ...differently }),
  };
}

type Answer = { readonly status: number; readonly body?: object };

/** Egress on which matching requests get this answer, or none at all. */
export const answering = (
  http: Egress,
  befalls: (request: EgressRequest) => boolean,
  answer: Answer | 'nothing',
): Egress => ({
  ...http,
  request: (request) => {
    if (!befalls(request)) {
      return http.request(request);
    }
    if (answer === 'nothing') {
      throw new EgressError('timeout', 'No answer.', { maybeSent: true });
    }

    const { status, body = {} } = answer;
    const headers = { 'content-type': 'application/json' };
    const bytes = Buffer.from(JSON.stringify(body));
    return Promise.resolve({ status, headers, body: bytes, truncated: false });
  },
});
