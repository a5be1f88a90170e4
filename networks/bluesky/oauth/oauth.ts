import type { NodeOAuthClient, NodeSavedState } from '@atproto/oauth-client-node';
import { AppError } from '../../../domain/errors.ts';
import type { Json } from '../../../domain/json-schema.ts';
import { baseUrlOf } from '../../http.ts';
import { NetworkError, type Account } from '../../network.ts';
import { declined } from '../../oauth/code-flow.ts';
import {
  OauthError,
  type Authorized,
  type Begin,
  type Begun,
  type Finish,
  type Grant,
  type Oauth,
  type Refresh,
} from '../../oauth/contract.ts';
import { accountName, readLimits, readProfile, shownHandle } from '../connect.ts';
import type { StoredSettings } from '../rules.ts';
import {
  blueskyGrantOf,
  sessionOf,
  oauthClient,
  oauthClientOf,
  type OauthClient,
  openClient,
  type Directories,
  type OpenClient,
} from './client.ts';
import { readFlow, readGrantData, type StoredFlow } from './grant.ts';
import { connectionError, isAway, refreshError } from './requests.ts';

const dayMs = 24 * 60 * 60_000;

/** The lifetime of a session, regardless of refreshes. Source: `oauth-constants.js` of @atproto/oauth-provider. */
const sessionMs = { public: 14 * dayMs, confidential: 2 * 365 * dayMs };

/** Connects Bluesky accounts by atproto's OAuth: PAR, PKCE, DPoP, single-use refresh tokens. */
export const blueskyOauth = (directories: Directories): Oauth => ({
  begin: (request) => begin(request, directories),
  finish: (request) => finish(request, directories),
  refresh: (request) => refresh(request, directories),
});

async function begin(request: Begin, directories: Directories): Promise<Begun> {
  // The sandbox is one server, and its page lets people choose the account.
  const account = accountIn(request.values['handle'] ?? request.sandboxUrl ?? '');
  // One URI for all servers, because our client metadata contain it. Against mix-up, the responses carry `iss`.
  const redirectUri = request.redirectUriFor();
  const open = await openClient(request, clientFor(request, redirectUri), directories);
  const { client, states, sent } = open;
  const did = isAddress(account) ? null : await didOf(open, account);
  // Otherwise a server that already allowed another workspace of this person would not ask for consent.
  const asking = { prompt: 'consent' } as const;
  const url = await client.authorize(did ?? account, asking).catch((error: unknown) => {
    throw connectionError(error, sent);
  });
  const [[state, record] = noState()] = states;
  const kept: Json = JSON.parse(JSON.stringify({ state, record, did }));
  return { url: url.href, state, redirectUri, kept };
}

async function finish(request: Finish, directories: Directories): Promise<Authorized> {
  const { answer, redirectUri, now } = request;
  const kept = readFlow(request.kept);
  if (!kept) {
    throw new OauthError('expired', 'This connection was started by another version. Start again.');
  }

  refuseErrors(answer);
  const oauth = clientFor(request, redirectUri);
  const { client, states, sessions, sent } = await openClient(request, oauth, directories);
  states.set(kept.state, kept.record as NodeSavedState);
  const given = await client
    .callback(answer, { redirect_uri: redirectUri as `https://${string}` })
    .catch((error: unknown) => {
      throw connectionError(error, sent);
    });
  const { session } = given;
  const recorded = () => sessions.get(session.did) ?? noState();
  try {
    const account = await accountOf(request, session, recorded().tokenSet.aud, directories);
    refuseOther(kept, account);
    const clientId = oauth.metadata.client_id ?? '';
    const endsAtMs = now().getTime() + sessionMs[oauth.key ? 'confidential' : 'public'];
    // The library refreshes a token that ends within 40 s before it reads the account: the first pair is then invalid.
    const grant = blueskyGrantOf(recorded(), { clientId, redirectUri }, { endsAtMs, now: now() });
    return { grant, accounts: [account] };
  } catch (error) {
    await session.signOut().catch(() => undefined);
    throw connectionError(error, sent);
  }
}

async function refresh(request: Refresh, directories: Directories): Promise<Grant> {
  const { grant, remoteId, derive } = request;
  const data = readGrantData(grant.data);
  const oauth = data && oauthClientOf(data.clientId, data.redirectUri, derive);
  if (!data || !oauth || grant.refreshToken === null) {
    const message = 'This service has no refresh token for this Bluesky account.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  const { client, sessions, sent } = await openClient(request, oauth, directories);
  try {
    const before = sessionOf(grant, remoteId, data);
    sessions.set(remoteId, before);
    await client.restore(remoteId, true).catch((error: unknown) => {
      // After it has stored the new pair, the library reads the server's metadata again. If that fails, the old refresh
      // token is already used, so the new pair is kept.
      if ((sessions.get(remoteId) ?? before) === before) {
        throw error;
      }
    });
    return blueskyGrantOf(sessions.get(remoteId) ?? noState(), data, {
      endsAtMs: grant.endsAtMs,
      now: request.now(),
    });
  } catch (error) {
    throw refreshError(error, sent, request.now());
  }
}

/** For records that the library always writes when a call succeeds. */
function noState(): never {
  throw new Error('The OAuth library stored no record.');
}

function clientFor({ publicUrl, derive }: Begin | Finish, redirectUri: string): OauthClient {
  const client = oauthClient(publicUrl, redirectUri, derive);
  if (!client) {
    const message =
      'Bluesky accounts can be connected only if PUNCTUAL_PUBLIC_URL is an https address with a public host name, or a numeric loopback address (http://127.0.0.1:3000).';
    throw new OauthError('misconfigured', message);
  }

  return client;
}

const isAddress = (account: string): boolean => /^https?:\/\//iv.test(account);

/** Reads a handle, a DID or a server's URL from a person's input. */
function accountIn(given: string): string {
  const account = accountName(given);
  if (isAddress(account)) {
    return new URL(baseUrlOf(account)).origin;
  }
  if (/^did:[a-z]+:\S+$/v.test(account) || /^[\w\-]+(?:\.[\w\-]+)+$/v.test(account)) {
    return account;
  }

  const message =
    'Not a Bluesky handle such as me.bsky.social, a DID, or the address of a server such as https://bsky.social.';
  throw new AppError('invalid_request', message);
}

async function didOf({ client, sent }: OpenClient, account: string): Promise<string> {
  try {
    return (await client.identityResolver.resolve(account)).did;
  } catch (error) {
    if (isAway(error)) {
      throw connectionError(error, sent);
    }

    const message = `There is no Bluesky account "${account}".`;
    throw new AppError('invalid_request', message, { cause: error });
  }
}

function refuseErrors(answer: URLSearchParams): void {
  const error = answer.get('error');
  if (error === null) {
    return;
  }
  if (['server_error', 'temporarily_unavailable'].includes(error)) {
    throw new OauthError('unavailable', 'The Bluesky server is not available at the moment.');
  }

  throw new OauthError('denied', declined('The Bluesky server'));
}

type Session = Awaited<ReturnType<NodeOAuthClient['restore']>>;

/** @param server The account's PDS. */
async function accountOf(
  { http, sandboxUrl }: Finish,
  session: Session,
  server: string,
  { resolverUrl }: Directories,
): Promise<Account> {
  const response = await session.fetchHandler('/xrpc/com.atproto.server.getSession');
  const profile = response.ok ? readProfile(await response.json()) : null;
  if (profile?.did !== session.did) {
    throw new OauthError('unavailable', 'The Bluesky server does not say which account this is.');
  }
  if (profile.active === false) {
    const message = 'The Bluesky account is deactivated. Activate it, and connect it then.';
    throw new OauthError('no_account', message);
  }

  const { did, handle: named } = profile;
  const baseUrl = baseUrlOf(server);
  const settings: StoredSettings = {
    ...(sandboxUrl && { webUrl: `${sandboxUrl}/bluesky` }),
    // If the server does not answer now, its limits are read again within a day.
    ...(await readLimits(http, baseUrl).catch(() => ({}))),
  };
  const handle = await shownHandle(http, { did, handle: named, baseUrl }, resolverUrl);
  // The library has read the server in the DID's document; the sandbox cannot prove that the account is the same.
  const isProved = sandboxUrl === null;
  return { baseUrl, remoteId: did, isProved, handle, credentials: null, session: null, settings };
}

/** Refuses an account other than the named one, as atproto requires. */
function refuseOther({ did }: StoredFlow, { remoteId, handle }: Account): void {
  if (did !== null && did !== remoteId) {
    const message = `You allowed the account @${handle}, but named another one before. Start again with the right one.`;
    throw new OauthError('denied', message);
  }
}
