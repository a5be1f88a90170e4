import { anything, having } from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import type { Access } from '../client.ts';
import { baseUrlOf } from '../http.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import type { Account } from '../network.ts';
import { getAs, idSchema } from './client.ts';
import { instanceOf, settingsOf } from './settings.ts';

type MastodonLogin = {
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

/** Reads the account of a token, and the server's limits. Creates nothing. */
export async function connectMastodon(http: Egress, login: MastodonLogin): Promise<Account> {
  const baseUrl = baseUrlOf(pasted(login.baseUrl));
  const credentials = { accessToken: pasted(login.accessToken) };
  const access = { http, baseUrl, credentials };
  const { id: remoteId, username, display_name: displayName } = await ownerOf(access);
  const { instance } = await instanceOf(access);
  const handle = shownHandle(username, baseUrl, readDomain(instance.domain));
  const settings = settingsOf(instance);
  return { baseUrl, remoteId, handle, displayName, credentials, session: null, settings };
}

export const checkMastodon: CheckAccount = async (account) => {
  const owner = await ownerOf(account);
  return { remoteId: owner.id, displayName: owner.display_name };
};

const ownerOf = (access: Access) =>
  getAs(access, '/api/v1/accounts/verify_credentials', 'prepare', readOwnAccount);

const readDomain = answerReader<string>({
  type: 'string',
  pattern: '^[\\w.\\-]+(?::\\d{1,5})?$',
  maxLength: 255,
});

/**
 * The handle to display. A server may claim any domain, so another one than its own is followed by the server, with its
 * path: `@me@example.com (server.example)`. A domain without a dot is not on the Internet; the sandbox has one.
 */
function shownHandle(username: string, baseUrl: string, domain: string | null): string {
  const server = withoutScheme(baseUrl);
  if (domain === null || domain.toLowerCase() === server) {
    return `@${username}@${server}`;
  }

  return `@${username}@${domain}${/^[a-z0-9\-]+$/iv.test(domain) ? '' : ` (${server})`}`;
}

const withoutScheme = (baseUrl: string): string => baseUrl.replace(/^https?:\/\//v, '');
