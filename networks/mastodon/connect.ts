import { pasted } from '../../domain/texts.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import { baseUrlOf } from '../send-network-request.ts';
import type { Account } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
import { accessWith, get, getAs, idSchema } from './client.ts';
import { instanceOf } from './read-limits.ts';
import { shownHandle } from './shown-handle.ts';
import { settingsOf } from './settings.ts';

type MastodonLogin = {
  /** The server's base URL: `https://mastodon.example`. */
  readonly baseUrl: string;
  /** With the scopes `read:accounts`, `read:statuses`, `write:statuses` and `write:media`. */
  readonly accessToken: string;
};

type OwnAccount = {
  readonly id: string;
  readonly username: string;
  readonly display_name?: unknown;
};

const readOwnAccount = answerReader<OwnAccount>({
  type: 'object',
  required: ['id', 'username'],
  properties: { id: idSchema, username: { type: 'string', minLength: 1, maxLength: 255 } },
});

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
  const access = accessWith({ http, baseUrl }, credentials, 'prepare');
  const { id: remoteId, username, display_name: displayName } = await ownerOf(access);
  const { instance } = await instanceOf((path) => get(access, path, 'prepare'));
  const handle = await shownHandle(http, { username, domain: instance.domain, baseUrl });
  const settings = settingsOf(instance);
  return { baseUrl, remoteId, handle, displayName, credentials, session: null, settings };
}

/** Checks whether an account is still accessible. */
export const checkMastodon: CheckAccount = async ({ http, baseUrl, credentials }) => {
  const owner = await ownerOf(accessWith({ http, baseUrl }, credentials, 'prepare'));
  return {
    remoteId: owner.id,
    handle: `@${owner.username}@${new URL(baseUrl).host}`,
    displayName: owner.display_name,
  };
};

const ownerOf = (access: TokenAccess) =>
  getAs(access, '/api/v1/accounts/verify_credentials', 'prepare', readOwnAccount);
