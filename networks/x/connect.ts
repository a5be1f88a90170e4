import type { Egress } from '../../runtime/egress/egress.ts';
import type { Access } from '../access-token.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../entry.ts';
import type { Account } from '../network.ts';
import { baseUrlOf } from '../send-request.ts';
import { accessWith, callAs, idSchema } from './client.ts';
import type { XSettings } from './settings.ts';
import type { OwnUser } from './wire.ts';

type XLogin = {
  /** Of the API: `https://api.x.com`. */
  readonly baseUrl: string;
  /** Of OAuth 2 for one user, with the scopes `tweet.read`, `tweet.write`, `users.read` and `media.write`. */
  readonly accessToken: string;
  /** Where people read the account's posts, when that is not x.com: posts lie under `<webUrl>/i/web/status/`. */
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
 * Asks X whose token this is; X charges a read of a user for it. Creates nothing.
 *
 * @throws NetworkError `access_lost` for a token that X does not accept, `permission_missing` for one that may not read
 *   the account, or whose app may not.
 * @throws AppError `invalid_request` for an address that is none.
 */
export async function connectX(http: Egress, login: XLogin): Promise<Account> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const settings: Partial<XSettings> =
    login.webUrl === undefined ? {} : { webUrl: baseUrlOf(login.webUrl) };
  const credentials = { accessToken: login.accessToken.trim() };
  const owner = await ownerOf(accessWith({ http, baseUrl }, credentials, 'prepare'));
  return { baseUrl, ...owner, credentials, session: null, settings };
}

/** Whether an account can still be entered. X charges a read of a user for it. */
export const checkX: CheckAccount = ({ http, baseUrl, credentials }) =>
  ownerOf(accessWith({ http, baseUrl }, credentials, 'prepare'));

async function ownerOf(
  access: Access,
): Promise<Pick<Account, 'remoteId' | 'handle' | 'displayName'>> {
  const request = { method: 'GET', path: '/2/users/me', purpose: 'prepare' } as const;
  const { data } = await callAs(access, request, readOwnUser);
  return { remoteId: data.id, handle: `@${data.username}`, displayName: data.name };
}
