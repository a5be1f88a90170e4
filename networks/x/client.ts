import { anything, listOf, mayHave, text, type Value } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, retryAtMs } from '../answer.ts';
import {
  networkClient,
  refusedFile,
  refusedPost,
  unavailable,
  type Dialect,
  type Refused,
} from '../client.ts';

/** Ids of posts, accounts and files are numbers of up to 19 digits, as strings. */
export const idSchema = { type: 'string', pattern: '^[0-9]{1,19}$' } as const;

const problemSchema = mayHave({
  title: text,
  detail: text,
  /** A URL whose last segment is the kind: `https://api.x.com/2/problems/usage-capped`. */
  type: text,
  /** For an app that is not set up for the API: `client-not-enrolled`. */
  reason: text,
  errors: listOf(mayHave({ message: text, detail: text })),
  reset_date: anything,
});

type Problem = Value<typeof problemSchema>;

const readProblem = answerReader(problemSchema);

const wordsOf = ({ errors = [], detail, title }: Problem): string | undefined =>
  errors[0]?.message ?? errors[0]?.detail ?? detail ?? title;

/** `usage-capped` from `https://api.x.com/2/problems/usage-capped`. */
const kindOf = ({ type = '', reason = '' }: Problem): string =>
  reason || (type.split('/').at(-1) ?? '');

type Problematic = Refused<Problem>;

const lost = { code: 'access_lost', saying: 'does not accept the access token' } as const;
const forbidden = { code: 'permission_missing', saying: 'does not permit this' } as const;

/** A usage cap concerns the app, whatever window the response names. */
const limited = {
  code: 'rate_limited',
  limit: ({ response, said }: Problematic) =>
    isCapped(said) || usedWindows(response).includes('x-app-limit-24hour') ? 'network' : 'channel',
  untilMs: ({ response, nowMs }: Problematic) => windowEndMs(response, nowMs),
} as const;

/** X uses 403 for many refusals, so its message says more than the status. */
const dialect: Dialect<Problem> = {
  name: 'X',
  read: readProblem,
  wordsOf,
  saysGone: (said) => kindOf(said) === 'resource-not-found',
  refusals: [
    {
      if: isOutOfMoney,
      code: 'rate_limited',
      saying: moneySaying,
      limit: 'network',
      untilMs: ({ nowMs }) => nowMs + moneyWaitMs,
    },
    { status: 401, ...lost },
    { if: ({ said }) => kindOf(said) === 'unsupported-authentication', ...lost },
    { status: 429, ...limited },
    { if: ({ said }) => isCapped(said), ...limited },
    { status: 403, if: ({ said }) => missingPermission.has(kindOf(said)), ...forbidden },
    {
      status: 403,
      if: isDailyLimit,
      ...limited,
      untilMs: (refused) => limited.untilMs(refused) ?? refused.nowMs + accountDayWaitMs,
    },
    { status: 403, if: ({ purpose }) => purpose !== 'create', ...forbidden },
    {
      status: 403,
      if: says(/duplicate/iv),
      code: 'duplicate',
      saying: 'has a post with this text already',
    },
    {
      status: 403,
      if: ({ isReply = false }) => isReply,
      code: 'content_refused',
      saying: 'does not allow this post to continue the previous one, so the thread ends there',
    },
    { status: 403, if: says(/permi|scope|suspended|\blocked\b/iv), ...forbidden },
    { status: 403, ...refusedPost },
    { on: 'create', if: isAboutContent, ...refusedPost },
    { on: 'upload', if: isAboutContent, ...refusedFile },
    unavailable('is not available at the moment', 'has no API at this address'),
  ],
};

/**
 * Problems of the app's or the token's rights. Sources:
 * https://docs.x.com/x-api/fundamentals/response-codes-and-errors, real responses.
 */
const missingPermission: ReadonlySet<string> = new Set([
  'client-forbidden',
  'client-not-enrolled',
  'oauth1-permissions',
  'oauth2-insufficient-scope',
  'official-client-forbidden',
]);

function says(words: RegExp) {
  return ({ said }: Problematic): boolean => words.test(wordsOf(said) ?? '');
}

/** `User is over daily status update limit.` Limits of the text mention characters instead. */
function isDailyLimit({ said }: Problematic): boolean {
  const words = wordsOf(said) ?? '';
  const at = words.search(/\b(?:daily|over)\b/iv);
  const hasLimit = at >= 0 && /\blimit/iv.test(words.slice(at));
  return hasLimit && !/\b(?:characters?|text|length)\b/iv.test(words);
}

/** For a reply, a 404 concerns the previous post; otherwise there is no API at this address. */
function isAboutContent({ status, purpose, isReply }: Problematic): boolean {
  const mayBeAddress = [404, 410].includes(status) && purpose !== 'upload' && isReply !== true;
  return status >= 400 && status < 500 && ![405, 408].includes(status) && !mayBeAddress;
}

/**
 * Whether the app has run out of money. X then refuses requests for all accounts: with 402 when the credits are spent,
 * and with 403 at a spend cap. A 403 has many meanings, so its title and text decide.
 *
 * Source: https://docs.x.com/x-api/getting-started/pricing
 */
function isOutOfMoney({ status, said }: Pick<Problematic, 'status' | 'said'>): boolean {
  const isMoney = status === 402 || saysCap(said) || said.type?.endsWith('credits') === true;
  return isMoney && status >= 400 && status < 500;
}

/** Whether a response of the token endpoint says that the app has run out of money. */
export const saysOutOfMoney = (response: EgressResponse): boolean =>
  isOutOfMoney({ status: response.status, said: readProblem(jsonOf(response)) ?? {} });

function saysCap({ title, detail, reason, errors = [] }: Problem): boolean {
  const all = [title, detail, reason, ...errors.flatMap((error) => [error.message, error.detail])];
  return (
    [title, reason].includes('SpendCapReached') ||
    all.some((said) => /spend(?:ing)? (?:cap|limit)/iv.test(said ?? ''))
  );
}

function moneySaying({ status, said }: Problematic): string {
  if (status === 402 && !saysCap(said)) {
    return 'takes no more requests until the app that publishes has credits again';
  }

  const [day] = /^\d{4}-\d{2}-\d{2}/v.exec(String(said.reset_date)) ?? [];
  const until = day === undefined ? 'for now' : `until ${day}`;
  return `takes no more requests ${until}, because the app that publishes has reached its spend cap`;
}

/** Wait after the app ran out of money, in milliseconds: X does not say when it has some again. */
const moneyWaitMs = 15 * 60_000;

/** Wait after an account's daily limit, in milliseconds, where X does not say when it ends. */
const accountDayWaitMs = 60 * 60_000;

const isCapped = (said: Problem): boolean => kindOf(said) === 'usage-capped';

/** X's windows: 15 minutes per account, and a day per account or per app. */
const windows = ['x-rate-limit', 'x-user-limit-24hour', 'x-app-limit-24hour'] as const;

/**
 * The windows of the limit that was met. Every response contains every window; the met one has nothing left.
 *
 * Source: https://docs.x.com/x-api/fundamentals/rate-limits
 */
const usedWindows = ({ headers }: EgressResponse) =>
  windows.filter((name) => headers[`${name}-remaining`] === '0');

function windowEndMs(response: EgressResponse, nowMs: number): number | undefined {
  const used = usedWindows(response);
  const ends = (used.length > 0 ? used : windows.slice(0, 1)).map((name) => {
    const headers = { 'ratelimit-reset': response.headers[`${name}-reset`] ?? '' };
    return retryAtMs({ ...response, headers }, nowMs) ?? 0;
  });
  return Math.max(...ends) || retryAtMs(response, nowMs);
}

export const { call, ask, getAs, refusal } = networkClient(dialect, 'X');
