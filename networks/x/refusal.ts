import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, limitReached, retryAtMs } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { acceptedAfter, type Purpose } from '../http.ts';

type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message. */
  readonly accessToken: string;
  /** Whether the post continues another one. */
  readonly isReply?: boolean;
  /** The name of the uploaded file, for the message. */
  readonly fileName?: string;
};

/** Converts an error response to a NetworkError. */
export function refusal(response: EgressResponse, refused: RefusedRequest): NetworkError {
  const { status } = response;
  const outOfMoney = moneyRefusal(response, refused.purpose, [refused.accessToken]);
  if (outOfMoney) {
    return outOfMoney;
  }

  const problem = readProblem(jsonOf(response)) ?? {};
  const met = limitMet(response, problem);
  const { code, saying } = meaning(status, problem, refused, limitReached[met.limit]);
  const said = quote(wordsOf(problem), [refused.accessToken]);
  // A proxy may have answered instead of a server that did post.
  const certainlyNot = status >= 300 && status < 500 && status !== 408;
  return new NetworkError(code, `X ${saying} (HTTP ${status})${said && `: ${said}`}.`, {
    accepted: acceptedAfter(refused.purpose, certainlyNot),
    ...(code === 'rate_limited' && met),
    server: 'answered',
  });
}

/**
 * Reads a response that says that the app has run out of money. X then refuses requests for all accounts.
 *
 * @param secrets Must not appear in the message.
 * @returns null for any other response.
 */
export function moneyRefusal(
  response: EgressResponse,
  purpose: Purpose,
  secrets: readonly string[],
): NetworkError | null {
  const { status } = response;
  const problem = readProblem(jsonOf(response)) ?? {};
  const saying = moneyMeaning(status, problem);
  if (saying === null) {
    return null;
  }

  const said = quote(wordsOf(problem), secrets);
  return new NetworkError('rate_limited', `X ${saying} (HTTP ${status})${said && `: ${said}`}.`, {
    accepted: acceptedAfter(purpose, true),
    retryAtMs: Date.now() + moneyWaitMs,
    limit: 'network',
    server: 'answered',
  });
}

type Problem = {
  readonly title?: string;
  readonly detail?: string;
  /** A URL whose last segment is the kind: `https://api.x.com/2/problems/usage-capped`. */
  readonly type?: string;
  /** For an app that is not set up for the API: `client-not-enrolled`. */
  readonly reason?: string;
  readonly errors?: readonly { readonly message?: string; readonly detail?: string }[];
  /** The day on which a spend cap is reset. */
  readonly reset_date?: unknown;
};

const textSchema = { type: 'string' };

const readProblem = answerReader<Problem>({
  type: 'object',
  properties: {
    title: textSchema,
    detail: textSchema,
    type: textSchema,
    reason: textSchema,
    errors: {
      type: 'array',
      items: { type: 'object', properties: { message: textSchema, detail: textSchema } },
    },
  },
});

/**
 * X answers 402 when the credits are spent, and 403 at a spend cap. A 403 has many meanings, so its title and text
 * decide.
 *
 * Source: https://docs.x.com/x-api/getting-started/pricing
 */
function moneyMeaning(status: number, problem: Problem): string | null {
  if (status < 400 || status > 499) {
    return null;
  }

  const { title = '', detail = '', type = '', reason = '', errors = [] } = problem;
  const all = [title, detail, reason, ...errors.flatMap((error) => [error.message, error.detail])];
  const saysCap =
    [title, reason].includes('SpendCapReached') ||
    all.some((text) => /spend(?:ing)? (?:cap|limit)/iv.test(text ?? ''));
  if (status === 402 && !saysCap) {
    return 'takes no more requests until the app that publishes has credits again';
  }
  if (!saysCap && !type.endsWith('credits')) {
    return null;
  }

  const [day] = /^\d{4}-\d{2}-\d{2}/v.exec(String(problem.reset_date)) ?? [];
  const until = day === undefined ? 'for now' : `until ${day}`;
  return `takes no more requests ${until}, because the app that publishes has reached its spend cap`;
}

/** The most specific message of a response. */
const wordsOf = ({ errors = [], detail, title }: Problem): string | undefined =>
  errors[0]?.message ?? errors[0]?.detail ?? detail ?? title;

/** `usage-capped` from `https://api.x.com/2/problems/usage-capped`. */
const kindOf = ({ type = '', reason = '' }: Problem): string =>
  reason || (type.split('/').at(-1) ?? '');

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

/** Whether X itself says that a post does not exist. Any server can answer 404. */
export const saysNotFound = (response: EgressResponse): boolean =>
  response.status === 404 && kindOf(readProblem(jsonOf(response)) ?? {}) === 'resource-not-found';

type Meaning = { readonly code: ChannelErrorCode; readonly saying: string };

function meaning(status: number, problem: Problem, refused: RefusedRequest, busy: string): Meaning {
  const { purpose, fileName } = refused;
  const kind = kindOf(problem);
  if (status === 401 || kind === 'unsupported-authentication') {
    return { code: 'access_lost', saying: 'does not accept the access token' };
  }
  if (status === 429 || kind === 'usage-capped') {
    return { code: 'rate_limited', saying: busy };
  }
  if (status === 403) {
    return forbidden(problem, refused, busy);
  }
  if (purpose === 'create' && isAboutContent(status, refused)) {
    return { code: 'content_refused', saying: 'refused the post' };
  }
  if (purpose === 'upload' && isAboutContent(status, refused)) {
    return { code: 'media_refused', saying: `refused the file "${fileName}"` };
  }

  const saying = status >= 500 ? 'is not available at the moment' : 'has no API at this address';
  return { code: 'network_unavailable', saying };
}

/** X uses 403 for many refusals, so its message says more than the status. */
function forbidden(problem: Problem, { purpose, isReply }: RefusedRequest, busy: string): Meaning {
  const said = wordsOf(problem) ?? '';
  if (missingPermission.has(kindOf(problem))) {
    return { code: 'permission_missing', saying: 'does not permit this' };
  }
  if (isDailyLimit(said)) {
    return { code: 'rate_limited', saying: busy };
  }
  if (purpose !== 'create') {
    return { code: 'permission_missing', saying: 'does not permit this' };
  }
  if (/duplicate/iv.test(said)) {
    return { code: 'duplicate', saying: 'has a post with this text already' };
  }
  if (isReply) {
    const saying =
      'does not allow this post to continue the previous one, so the thread ends there';
    return { code: 'content_refused', saying };
  }

  return /permi|scope|suspended|\blocked\b/iv.test(said)
    ? { code: 'permission_missing', saying: 'does not permit this' }
    : { code: 'content_refused', saying: 'refused the post' };
}

/** `User is over daily status update limit.` Limits of the text mention characters instead. */
const isDailyLimit = (said: string): boolean => {
  const at = said.search(/\b(?:daily|over)\b/iv);
  const hasLimit = at >= 0 && /\blimit/iv.test(said.slice(at));
  return hasLimit && !/\b(?:characters?|text|length)\b/iv.test(said);
};

/** For a reply, a 404 concerns the previous post; otherwise there is no API at this address. */
const isAboutContent = (status: number, { purpose, isReply }: RefusedRequest): boolean =>
  status >= 400 &&
  status < 500 &&
  ![405, 408].includes(status) &&
  (![404, 410].includes(status) || purpose === 'upload' || isReply === true);

/**
 * A usage cap concerns the app, whatever window the response names. No header says when an account's daily limit ends.
 */
function limitMet(response: EgressResponse, problem: Problem) {
  const nowMs = Date.now();
  const met = limitOf(response, nowMs);
  if (kindOf(problem) === 'usage-capped') {
    return { ...met, limit: 'network' as const };
  }

  const laterMs = response.status === 403 ? nowMs + accountDayWaitMs : undefined;
  return { ...met, retryAtMs: met.retryAtMs ?? laterMs };
}

/** X's windows: 15 minutes per account, and a day per account or per app. */
const windows = ['x-rate-limit', 'x-user-limit-24hour', 'x-app-limit-24hour'] as const;

/** Wait after the app ran out of money, in milliseconds: X does not say when it has some again. */
const moneyWaitMs = 15 * 60_000;

/** Wait after an account's daily limit, in milliseconds, where X does not say when it ends. */
const accountDayWaitMs = 60 * 60_000;

/**
 * The end and the scope of the limit that was met. Every response contains every window; the met one has nothing left.
 *
 * Source: https://docs.x.com/x-api/fundamentals/rate-limits
 */
function limitOf(
  response: EgressResponse,
  nowMs: number,
): { readonly retryAtMs: number | undefined; readonly limit: LimitScope } {
  const { headers } = response;
  const used = windows.filter((name) => headers[`${name}-remaining`] === '0');
  const resets = (used.length > 0 ? used : windows.slice(0, 1)).map((name) =>
    retryAtMs(
      { ...response, headers: { 'ratelimit-reset': headers[`${name}-reset`] ?? '' } },
      nowMs,
    ),
  );
  const latestMs = Math.max(...resets.map((reset) => reset ?? 0));
  return {
    retryAtMs: latestMs > 0 ? latestMs : retryAtMs(response, nowMs),
    limit: used.includes('x-app-limit-24hour') ? 'network' : 'channel',
  };
}
