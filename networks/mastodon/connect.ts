import { anything, having, listOf, mayHave } from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import type { Access } from '../client.ts';
import { baseUrlOf } from '../http.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import type { Account } from '../network.ts';
import { getAs, idSchema } from './client.ts';
import { instanceOf, settingsOf } from './settings.ts';

type MastodonLogin = {
  /** The server's base URL: `https://mastodon.example`. */
  readonly baseUrl: string;
  /** With the scopes `read:accounts`, `read:statuses`, `write:statuses` and `write:media`. */
  readonly accessToken: string;
};

const readOwnAccount = answerReader(
  having(
    {
      id: idSchema,
      username: { type: 'string', pattern: '^[\\p{L}\\p{N}_.\\-]+$', maxLength: 255 },
    },
    { display_name: anything },
  ),
);

/**
 * Reads the account of a token, and the server's limits. Creates nothing.
 *
 * @throws NetworkError `access_lost` for an invalid token, `permission_missing` for one that may not read the account,
 *   `network_unavailable` when there is no Mastodon API at the URL.
 * @throws AppError `invalid_request` for an invalid URL.
 */
export async function connectMastodon(http: Egress, login: MastodonLogin): Promise<Account> {
  const baseUrl = baseUrlOf(pasted(login.baseUrl));
  const credentials = { accessToken: pasted(login.accessToken) };
  const access = { http, baseUrl, credentials };
  const { id: remoteId, username, display_name: displayName } = await ownerOf(access);
  const { instance } = await instanceOf(access);
  const handle = await shownHandle(http, { username, domain: instance.domain, baseUrl });
  const settings = settingsOf(instance);
  return { baseUrl, remoteId, handle, displayName, credentials, session: null, settings };
}

export const checkMastodon: CheckAccount = async (account) => {
  const owner = await ownerOf(account);
  return {
    remoteId: owner.id,
    handle: `@${owner.username}@${new URL(account.baseUrl).host}`,
    displayName: owner.display_name,
  };
};

const ownerOf = (access: Access) =>
  getAs(access, '/api/v1/accounts/verify_credentials', 'prepare', readOwnAccount);

type Named = {
  readonly username: string;
  /** The domain of the server's accounts, as it reports; undefined when it does not. */
  readonly domain: string | undefined;
  readonly baseUrl: string;
};

/**
 * The handle to display. A server may claim any domain, so a domain whose WebFinger does not lead to this server is
 * followed by the server: `@me@example.com (server.example)`.
 */
async function shownHandle(http: Egress, { username, domain, baseUrl }: Named): Promise<string> {
  const { host } = new URL(baseUrl);
  if (domain === undefined || domain.toLowerCase() === host) {
    return `@${username}@${host}`;
  }

  const handle = `@${username}@${domain}`;
  const isProved = isLocal.test(domain) || (await pointsTo(http, { username, domain, host }));
  return isProved ? handle : `${handle} (${host})`;
}

/** A host without a dot is not on the Internet; the sandbox has one. */
const isLocal = /^[a-z0-9\-]+$/iv;

const isDomain = /^[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)+(?::\d{1,5})?$/v;

/**
 * Whether WebFinger at a domain leads to this server. The domain of a server with another host usually redirects there.
 *
 * Source: https://docs.joinmastodon.org/spec/webfinger/
 */
async function pointsTo(
  http: Egress,
  { username, domain, host }: { username: string; domain: string; host: string },
): Promise<boolean> {
  if (!isDomain.test(domain)) {
    return false;
  }

  const resource = encodeURIComponent(`acct:${username}@${domain}`);
  const url = `https://${domain}/.well-known/webfinger?resource=${resource}`;
  const headers = { accept: 'application/jrd+json, application/json', 'user-agent': 'Punctual' };
  const response = await http
    .request({ method: 'GET', url, headers, timeoutMs: 5000, maxBytes: 65_536 })
    .catch(() => null);
  return response !== null && addressesIn(response).some((one) => URL.parse(one)?.host === host);
}

const readLinks = answerReader(
  having({ links: listOf(mayHave({ rel: anything, href: anything })) }),
);

function addressesIn(response: EgressResponse): string[] {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    return headers['location'] === undefined ? [] : [headers['location']];
  }

  const links = status === 200 ? (readLinks(jsonOf(response))?.links ?? []) : [];
  return links.flatMap(({ rel, href }) =>
    rel === 'self' && typeof href === 'string' ? [href] : [],
  );
}
