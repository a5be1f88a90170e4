import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, takesNoMore } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { takenAfter, type Purpose } from '../send-request.ts';
import { accountDayWaitMs, limitOf, moneyWaitMs } from './rate-limit.ts';

type Problem = {
  readonly title?: string;
  readonly detail?: string;
  /** An address whose last word is the kind: `https://api.x.com/2/problems/usage-capped`. */
  readonly type?: string;
  /** Of an app that is not set up for the API: `client-not-enrolled`. */
  readonly reason?: string;
  readonly errors?: readonly { readonly message?: string; readonly detail?: string }[];
  /** The day on which a spend cap is reset. */
  readonly reset_date?: unknown;
};

const words = { type: 'string' };
const readProblem = answerReader<Problem>({
  type: 'object',
  properties: {
    title: words,
    detail: words,
    type: words,
    reason: words,
    errors: {
      type: 'array',
      items: { type: 'object', properties: { message: words, detail: words } },
    },
  },
});

type RefusedRequest = {
  readonly purpose: Purpose;
  /** Not to be repeated in the message. */
  readonly accessToken: string;
  /** The post was to continue another one. */
  readonly isReply?: boolean;
  /** Of the file that was brought, for the message. */
  readonly fileName?: string;
};

/** Casts an answer that is not a success to what it means for the post. */
export function refusal(response: EgressResponse, refused: RefusedRequest): NetworkError {
  const { status } = response;
  const outOfMoney = moneyRefusal(response, refused.purpose, [refused.accessToken]);
  if (outOfMoney) {
    return outOfMoney;
  }

  const problem = readProblem(jsonOf(response)) ?? {};
  const met = limitMet(response, problem);
  const { code, saying } = meaning(status, problem, refused, takesNoMore[met.limit]);
  const said = quote(wordsOf(problem), [refused.accessToken]);
  // A proxy may have answered in place of an X that did post.
  const certainlyNot = status >= 300 && status < 500 && status !== 408;
  return new NetworkError(code, `X ${saying} (HTTP ${status})${said && `: ${said}`}.`, {
    taken: takenAfter(refused.purpose, certainlyNot),
    ...(code === 'rate_limited' && met),
    server: 'answered',
  });
}

/**
 * Reads an answer that says that the app has no money left. Until it has, X takes no request for any account.
 *
 * @param secrets Not to be repeated in the message.
 * @returns null for an answer that says something else.
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
    taken: takenAfter(purpose, true),
    retryAtMs: Date.now() + moneyWaitMs,
    limit: 'network',
    server: 'answered',
  });
}

/**
 * X answers 402 when the credits are spent, and 403 at a spend cap. As 403 has many other meanings, title and text decide.
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

/** The most exact of what X says. */
const wordsOf = ({ errors = [], detail, title }: Problem): string | undefined =>
  errors[0]?.message ?? errors[0]?.detail ?? detail ?? title;

/** `usage-capped` of `https://api.x.com/2/problems/usage-capped`. */
const kindOf = ({ type = '', reason = '' }: Problem): string =>
  reason || (type.split('/').at(-1) ?? '');

/** A usage cap is the app's, whatever window the answer names. No header tells when an account's day is over. */
function limitMet(response: EgressResponse, problem: Problem) {
  const nowMs = Date.now();
  const met = limitOf(response, nowMs);
  if (kindOf(problem) === 'usage-capped') {
    return { ...met, limit: 'network' as const };
  }

  const retryAtMs = response.status === 403 ? nowMs + accountDayWaitMs : undefined;
  return { ...met, retryAtMs: met.retryAtMs ?? retryAtMs };
}

/** `User is over daily status update limit.` Limits of the text are about characters. */
const isDailyLimit = (said: string): boolean =>
  /\b(?:daily|over)\b.*\blimit/iv.test(said) && !/\b(?:characters?|text|length)\b/iv.test(said);

/** What an app or a token lacks. Sources: https://docs.x.com/x-api/fundamentals/response-codes-and-errors, X's answers. */
const missingPermission: ReadonlySet<string> = new Set([
  'client-forbidden',
  'client-not-enrolled',
  'oauth1-permissions',
  'oauth2-insufficient-scope',
  'official-client-forbidden',
]);

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

  const saying = status >= 500 ? 'could not do it at the moment' : 'has no API at this address';
  return { code: 'network_unavailable', saying };
}

/** X answers 403 to almost anything that it does not want, so that its words tell more than the status. */
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
    const saying = 'does not let this post continue the one before it, so the thread ends there';
    return { code: 'content_refused', saying };
  }

  return /permi|scope|suspended|\blocked\b/iv.test(said)
    ? { code: 'permission_missing', saying: 'does not permit this' }
    : { code: 'content_refused', saying: 'refused the post' };
}

/** A 404 is about the post before, if there is one; or else no API is at this address. */
const isAboutContent = (status: number, { purpose, isReply }: RefusedRequest): boolean =>
  status >= 400 &&
  status < 500 &&
  ![405, 408].includes(status) &&
  (![404, 410].includes(status) || purpose === 'upload' || isReply === true);
