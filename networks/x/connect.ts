import type { Egress } from '../../runtime/egress/egress.ts';
import type { TokenAccess } from '../access-token.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import type { Account } from '../network.ts';
import { baseUrlOf } from '../send-network-request.ts';
import { accessWith, callAs, idSchema } from './client.ts';
import type { XSettings } from './settings.ts';
import type { OwnUser } from './wire.ts';

type XLogin = {
  /** The base URL of the API: `https://api.x.com`. */
  readonly baseUrl: string;
  /** An OAuth 2 user token with the scopes `tweet.read`, `tweet.write`, `users.read` and `media.write`. */
  readonly accessToken: string;
  /** The website that shows the account's posts, when it is not x.com: posts are under `<webUrl>/i/web/status/`. */
  readonly webUrl?: string;
};

const readOwnUser = answerReader<OwnUser>({
  type: 'object',
  required: ['data'],
  properties: {
    data: {
      type: 'object',
      required: ['id', 'username'],
      properties: { id: idSchema, username: { type: 'string', minLength: 1, maxLength: 50 } },
    },
  },
});

/**
 * Reads the account of a token, for which X charges a user read. Creates nothing.
 *
 * @throws NetworkError `access_lost` for an invalid token, `permission_missing` when the token or its app may not read
 *   the account.
 * @throws AppError `invalid_request` for an invalid URL.
 */
export async function connectX(http: Egress, login: XLogin): Promise<Account> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const settings: Partial<XSettings> =
    login.webUrl === undefined ? {} : { webUrl: baseUrlOf(login.webUrl) };
  const credentials = { accessToken: login.accessToken.trim() };
  const owner = await ownerOf(accessWith({ http, baseUrl }, credentials, 'prepare'));
  return { baseUrl, ...owner, credentials, session: null, settings };
}

/** Checks whether an account is still accessible. X charges a user read. */
export const checkX: CheckAccount = ({ http, baseUrl, credentials }) =>
  ownerOf(accessWith({ http, baseUrl }, credentials, 'prepare'));

async function ownerOf(
  access: TokenAccess,
): Promise<Pick<Account, 'remoteId' | 'handle' | 'displayName'>> {
  const request = { method: 'GET', path: '/2/users/me', purpose: 'prepare' } as const;
  const { data } = await callAs(access, request, readOwnUser);
  return { remoteId: data.id, handle: `@${data.username}`, displayName: data.name };
}
