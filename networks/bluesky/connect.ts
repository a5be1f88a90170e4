import { anything, flag, having, type Json, listOf, text } from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import { NetworkError, type Account } from '../network.ts';
import { baseUrlOf, sendNetworkRequest, type ServerAccess } from '../http.ts';
import {
  bearerAuthorization,
  getSession,
  isTokenRefused,
  didSchema,
  unreadable,
  resolveHandle,
  xrpcQuery,
} from './client.ts';
import type { StoredSettings } from './rules.ts';
import {
  type BlueskyCredentials,
  logIn,
  type Login,
  type BlueskySession,
  withSession,
} from './session.ts';

type BlueskyLogin = {
  readonly baseUrl: string;
  /** A handle, with or without an @, or a DID. */
  readonly identifier: string;
  /** Created in the app's settings. The account's own password works too, but should not be shared. */
  readonly appPassword: string;
  /** The web app that shows the account's posts, when it is not bsky.app: posts are under `<webUrl>/profile/`. */
  readonly webUrl?: string;
  /** The directory of `did:plc`, which says which server an account is on. Absent: no https server is believed. */
  readonly plcUrl?: string;
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
 * common host may answer from a stale copy. The DID's document names the PDS, which has to confirm the account.
 */
export async function connectBluesky(http: Egress, login: BlueskyLogin): Promise<Account> {
  const baseUrl = baseUrlOf(pasted(login.baseUrl));
  const settings: StoredSettings =
    login.webUrl === undefined ? {} : { webUrl: baseUrlOf(login.webUrl) };
  const identifier = accountName(login.identifier);
  const appPassword = pasted(login.appPassword);
  const session = await logIn({ http, baseUrl }, { identifier, appPassword });
  const { did, accessJwt } = session;
  const pds = await pdsBehind(http, session, baseUrl, login.plcUrl);
  const named =
    pds === baseUrl ? session.handle : await confirmedBy({ http, baseUrl: pds }, session);
  return {
    baseUrl: pds,
    remoteId: did,
    isProved: baseUrl.startsWith('https:'), // See `pdsBehind`.
    handle: await shownHandle(http, { did, handle: named, baseUrl: pds }, login.resolverUrl),
    credentials: { identifier: did, appPassword } satisfies BlueskyCredentials,
    session: { accessJwt } satisfies BlueskySession,
    // If the server does not answer now, its limits are read again within a day.
    settings: { ...settings, ...(await readLimits(http, pds).catch(() => ({}))) },
  };
}

/** Asks the account's own PDS whose session this is, because the server that the person named may claim any account. */
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
    throw response.refusal();
  }

  const { host } = new URL(server.baseUrl);
  throw refused(
    `This account lives at ${host}, which does not confirm the sign-in. Sign in at ${host}.`,
  );
}

const refused = (message: string): NetworkError =>
  new NetworkError('access_lost', message, { accepted: 'no', server: 'answered' });

/**
 * The URL of the account's PDS, from the document of its DID at the directory or at its own host: a server may claim
 * any account. A server without https is the operator's own, because the egress guard refuses others; it is believed,
 * since its accounts may be in no directory.
 */
async function pdsBehind(
  http: Egress,
  { did, didDoc }: Login,
  baseUrl: string,
  plcUrl: string | undefined,
): Promise<string> {
  if (baseUrl.startsWith('http:')) {
    return pdsOf(didDoc, did) ?? baseUrl;
  }

  const [, method, name = ''] = did.split(':');
  const isWeb = method === 'web' && isName.test(name);
  const directory = isWeb ? `https://${name}` : plcUrl;
  const path = isWeb ? '/.well-known/did.json' : `/${encodeURIComponent(did)}`;
  const answer =
    directory === undefined
      ? undefined
      : await sendNetworkRequest(
          { http, baseUrl: directory },
          { method: 'GET', path, purpose: 'prepare' },
          'The directory of Bluesky accounts',
        );
  if (answer && answer.status >= 500) {
    throw unreadable('prepare');
  }

  const pds = answer?.status === 200 ? pdsOf(jsonOf(answer), did) : null;
  if (pds === null) {
    throw refused('No directory says which server this Bluesky account is on.');
  }
  return pds;
}

const readDidDocument = answerReader(
  having({
    id: didSchema,
    service: listOf(having({ id: text }, { serviceEndpoint: anything })),
  }),
);

/** The URL of the PDS in a DID's document; null when there is no https URL, or the document is of another DID. */
function pdsOf(didDoc: unknown, did: string): string | null {
  const document = readDidDocument(didDoc);
  const services = document?.id === did ? document.service : [];
  const endpoint = services.find(({ id }) => id.endsWith('#atproto_pds'))?.serviceEndpoint;
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  return url?.protocol === 'https:' ? url.origin : null;
}

export const readProfile = answerReader(
  having(
    { did: didSchema, handle: { type: 'string', minLength: 1, maxLength: 253 } },
    /** Absent on servers without account states. */
    { active: flag },
  ),
);

/** Asks the server for the account's identity. An app password signs in only when the stored session has expired. */
export const checkAccount: CheckAccount = async (connection) => {
  const saveSession = () => Promise.resolve();
  const answer = await withSession({ ...connection, saveSession }, (authorization) =>
    getSession(connection, authorization),
  );
  const profile = answer.as(readProfile);
  if (profile.active === false) {
    const message = 'The Bluesky account is deactivated.';
    throw new NetworkError('access_lost', message, { accepted: 'no', server: 'answered' });
  }

  return { remoteId: profile.did };
};

type Named = {
  readonly did: string;
  readonly handle: string;
  readonly baseUrl: string;
};

/**
 * The handle to display. A server may claim any handle for its accounts, so a handle that is proved neither by the
 * server's own name nor by the resolver is followed by the server: `me.example (pds.example)`. The DID replaces a
 * text that is no handle, because blanks in it could hide the server.
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
  return isProved ? handle : `${isName.test(name) ? handle : did} (${host})`;
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

/** Cleans a handle or a DID that was copied from a sentence: removes a leading @ and a trailing full stop. */
export const accountName = (typed: string): string =>
  pasted(typed).replace(/^@/v, '').replace(/\.$/v, '');

/** Reads the response of `com.atproto.server.describeServer`; `did` is the server itself. */
const readDescription = answerReader(having({ did: didSchema }, { blobUploadLimit: anything }));

type Description = NonNullable<ReturnType<typeof readDescription>>;

/** Asks a server for its public description. */
export async function describeServer(server: ServerAccess): Promise<Description> {
  const answer = await xrpcQuery(server, 'com.atproto.server.describeServer', {}, 'prepare');
  return answer.as(readDescription);
}

const readLimit = answerReader<number>({ type: 'integer', minimum: 1 });

/** Asks a server for its largest file size. Servers from before July 2026 do not say; the setting then stays. */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const limit = readLimit((await describeServer({ http, baseUrl })).blobUploadLimit);
  return limit === null ? {} : { blobUploadLimit: limit };
}
