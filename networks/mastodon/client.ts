import { having, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import {
  networkClient,
  refusedFile,
  refusedPost,
  unavailable,
  type Dialect,
  type Refused,
} from '../client.ts';

/** An opaque id: a decimal number on Mastodon, a ULID on GoToSocial. URLs cannot contain lone surrogates. */
export const idSchema = {
  type: 'string',
  pattern: '^[^\\p{Cc}\\p{Z}\\p{Cs}]+$',
  maxLength: 255,
} as const;

const readRefusal = answerReader(having({ error: text }));

type Said = NonNullable<ReturnType<typeof readRefusal>>;

/** The other statuses, such as 3xx, 404, 405 and 410, mean that no Mastodon API is at this address. */
const isAboutContent = ({ status }: Refused<Said>): boolean =>
  status >= 400 && status < 500 && ![404, 405, 408, 410].includes(status);

const dialect: Dialect<Said> = {
  name: 'The Mastodon server',
  read: readRefusal,
  wordsOf: ({ error }) => error,
  saysGone: ({ error }) => error !== undefined,
  refusals: [
    { status: 401, code: 'access_lost', saying: 'does not accept the access token' },
    { status: 403, code: 'permission_missing', saying: 'does not permit this' },
    {
      // Mastodon counts calls by account. GoToSocial counts by the caller's address, which all our channels share; only
      // its message tells them apart. Sources: https://docs.joinmastodon.org/api/rate-limits/, GoToSocial's
      // `internal/middleware/ratelimit.go`.
      status: 429,
      code: 'rate_limited',
      limit: ({ said }) => (said.error === 'rate limit reached' ? 'server' : 'channel'),
    },
    {
      status: 404,
      on: 'create',
      if: ({ isReply = false }) => isReply,
      code: 'content_refused',
      saying: 'cannot find the post that this one continues',
    },
    { on: 'create', if: isAboutContent, ...refusedPost },
    { on: 'upload', if: isAboutContent, ...refusedFile },
    {
      // The response to a token that belongs to an app and to no account.
      status: 422,
      if: ({ purpose }) => purpose !== 'create',
      code: 'access_lost',
      saying: 'needs the token of an account',
    },
    unavailable('could not do it at the moment', 'has no Mastodon API at this address'),
  ],
};

export const serverName = dialect.name;

export const { call, get, getAs, ask, remove, refusal } = networkClient(
  dialect,
  'a Mastodon server',
);

export type MastodonAnswer = Awaited<ReturnType<typeof call>>;
