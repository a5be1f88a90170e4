import { anything, having, type Json, mayHave, type Value } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import type { Access } from '../client.ts';
import { baseUrlOf } from '../http.ts';
import { answerReader } from '../answer.ts';
import { pathOn, type CheckAccount, type PostPages, type ProfileUrl } from '../network-entry.ts';
import type { Account } from '../network.ts';
import { getAs, idSchema } from './client.ts';

type XLogin = {
  readonly baseUrl: string;
  /** An OAuth 2 user token with the scopes `tweet.read`, `tweet.write`, `users.read` and `media.write`. */
  readonly accessToken: string;
  /** The website that shows the account's posts, when it is not x.com: posts are under `<webUrl>/i/web/status/`. */
  readonly webUrl?: string;
};

const readOwnUser = answerReader(
  having({
    data: having(
      { id: idSchema, username: { type: 'string', minLength: 1, maxLength: 50 } },
      { name: anything },
    ),
  }),
);

/** Reads the account of a token, for which X charges a user read. Creates nothing. */
export async function connectX(http: Egress, login: XLogin): Promise<Account> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const settings: Value<typeof storedSchema> =
    login.webUrl === undefined ? {} : { webUrl: baseUrlOf(login.webUrl) };
  const credentials = { accessToken: login.accessToken.trim() };
  const owner = await ownerOf({ http, baseUrl, credentials });
  return { baseUrl, ...owner, credentials, session: null, settings };
}

export const checkX: CheckAccount = (account) => ownerOf(account);

async function ownerOf(
  access: Access,
): Promise<Pick<Account, 'remoteId' | 'handle' | 'displayName'>> {
  const { data } = await getAs(access, '/2/users/me', 'prepare', readOwnUser);
  return { remoteId: data.id, handle: `@${data.username}`, displayName: data.name };
}

const storedSchema = mayHave({ webUrl: { type: 'string', pattern: '^https?://[^/]' } });

const readSettings = answerReader(storedSchema);

const webUrlOf = (settings: Json): string => readSettings(settings)?.webUrl ?? 'https://x.com';

export const postUrl = (settings: Json, id: string): string =>
  `${webUrlOf(settings)}/i/web/status/${encodeURIComponent(id)}`;

export const profileUrl: ProfileUrl = ({ handle, settings }) =>
  `${webUrlOf(settings)}/${encodeURIComponent(handle.replace(/^@/v, ''))}`;

/** X also uses `i` in place of a handle. */
const postPath = /^\/(?:i\/web|(?<name>\w+))\/status\/(?<id>\d{1,20})(?:\/|$)/v;

export const postPages: PostPages = {
  idAt: ({ handle, settings }, url) => {
    const page = new URL(url);
    page.host = page.host.replace(/^(?:\w+\.)?twitter\.com$/v, 'x.com');
    const path = pathOn(webUrlOf(settings), page) ?? '';
    const { name = 'i', id } = postPath.exec(path)?.groups ?? {};
    const isOwn = name === 'i' || `@${name}`.toLowerCase() === handle.toLowerCase();
    return id !== undefined && isOwn ? { id } : null;
  },
  example: ({ settings }) => `${webUrlOf(settings)}/i/web/status/{id}`,
};
