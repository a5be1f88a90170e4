import { pasted } from '../../domain/texts.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { baseUrlOf, type ServerAccess } from '../send-network-request.ts';
import { NetworkError, type Account } from '../network.ts';
import { accountName } from './account-name.ts';
import { readProfile } from './account.ts';
import { bearerAuthorization, getSession, isTokenRefused, refusal } from './client.ts';
import { readLimits } from './describe-server.ts';
import { shownHandle } from './shown-handle.ts';
import { type BlueskyCredentials, logIn, type Login, type BlueskySession } from './session.ts';
import type { StoredSettings } from './rules.ts';

type BlueskyLogin = {
  /** The base URL of the account's PDS, or of its provider: `https://bsky.social`. */
  readonly baseUrl: string;
  /** A handle, with or without an @, or a DID. */
  readonly identifier: string;
  /** Created in the app's settings. The account's own password works too, but should not be shared. */
  readonly appPassword: string;
  /** The web app that shows the account's posts, when it is not bsky.app: posts are under `<webUrl>/profile/`. */
  readonly webUrl?: string;
  /**
   * Resolves handles, because a server's own claim proves nothing. Absent: only handles under the server's name are
   * proved.
   */
  readonly resolverUrl?: string;
};

/**
 * Signs in to an account. Creates only a session.
 *
 * Afterwards the channel logs in by DID, at the account's own PDS: a handle can get another owner, and a provider's
 * common host may answer from a stale copy. The PDS has to confirm the account.
 *
 * @throws NetworkError `access_lost` for a wrong account or password, `network_unavailable` when no PDS answers.
 * @throws AppError `invalid_request` for an invalid URL.
 */
export async function connectBluesky(http: Egress, login: BlueskyLogin): Promise<Account> {
  const baseUrl = baseUrlOf(pasted(login.baseUrl));
  const settings: StoredSettings =
    login.webUrl === undefined ? {} : { webUrl: baseUrlOf(login.webUrl) };
  const identifier = accountName(login.identifier);
  const appPassword = pasted(login.appPassword);
  const session = await logIn({ http, baseUrl }, { identifier, appPassword });
  const { did, accessJwt } = session;
  const pds = pdsOf(session.didDoc) ?? baseUrl;
  const named =
    pds === baseUrl ? session.handle : await confirmedBy({ http, baseUrl: pds }, session);
  return {
    baseUrl: pds,
    remoteId: did,
    handle: await shownHandle(http, { did, handle: named, baseUrl: pds }, login.resolverUrl),
    credentials: { identifier: did, appPassword } satisfies BlueskyCredentials,
    session: { accessJwt } satisfies BlueskySession,
    // If the server does not answer now, its limits are read again within a day.
    settings: { ...settings, ...(await readLimits(http, pds).catch(() => ({}))) },
  };
}

/**
 * Asks the account's own PDS whose session this is, because the server that the person named may claim any account.
 *
 * @returns the account's handle.
 * @throws NetworkError `access_lost` when the PDS does not confirm the account.
 */
async function confirmedBy(
  server: ServerAccess,
  { did, accessJwt }: Pick<Login, 'did' | 'accessJwt'>,
): Promise<string> {
  const response = await getSession(server, bearerAuthorization(accessJwt));
  const profile = response.status === 200 ? readProfile(jsonOf(response)) : null;
  if (profile?.did === did) {
    return profile.handle;
  }
  if (response.status !== 200 && !isTokenRefused(response)) {
    throw refusal(response, 'prepare', [accessJwt]);
  }

  const { host } = new URL(server.baseUrl);
  const message = `The server that you named says that this account lives at ${host}, and ${host} does not confirm the sign-in. Sign in at ${host}.`;
  throw new NetworkError('access_lost', message, { accepted: 'no', server: 'answered' });
}

type DidDocument = {
  readonly service: readonly { readonly id: string; readonly serviceEndpoint?: unknown }[];
};

const readDidDocument = answerReader<DidDocument>({
  type: 'object',
  required: ['service'],
  properties: {
    service: {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    },
  },
});

/** The URL of the account's PDS in its DID document; null when there is no https URL. */
function pdsOf(didDoc: unknown): string | null {
  const services = readDidDocument(didDoc)?.service ?? [];
  const endpoint = services.find(({ id }) => id.endsWith('#atproto_pds'))?.serviceEndpoint;
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  return url?.protocol === 'https:' ? url.origin : null;
}
