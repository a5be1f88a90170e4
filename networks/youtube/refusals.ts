import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, takesNoMore } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { takenAfter, type Purpose } from '../send-request.ts';
import { nextPacificMidnight } from './quota-reset.ts';

export type RefusedRequest = {
  readonly purpose: Purpose;
  /** Not to be repeated in the message. */
  readonly accessToken: string;
  /** What the request was for: what a refusal of its content is about. */
  readonly about: 'video' | 'comment' | 'thumbnail' | 'account';
};

/** Casts an answer that is not a success to what it means for the post. */
export function refusal(
  response: EgressResponse,
  { purpose, accessToken, about }: RefusedRequest,
  nowMs: number = Date.now(),
): NetworkError {
  const error = errorIn(response);
  const { code, saying, limit, waitsUntilMs } = meaning(response, error, about, nowMs);
  const words = quote(error.message?.replaceAll(/<[^<>]*>/gu, ''), [accessToken]);
  const { status } = response;
  const message = `YouTube ${saying} (HTTP ${status})${words && `: ${words}`}`;
  return new NetworkError(code, message.endsWith('."') ? message : `${message}.`, {
    taken: takenAfter(purpose, status >= 300 && status < 500 && status !== 408),
    retryAtMs: waitsUntilMs ?? retryAtMs(response, nowMs),
    limit: limit ?? 'channel',
    server: 'answered',
  });
}

/** An answer of success that is none of YouTube's: the video may be there all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError('network_unavailable', 'YouTube gave an answer that does not read as one.', {
    taken: takenAfter(purpose, false),
    server: 'answered',
  });

type GoogleError = {
  readonly message?: string;
  readonly errors?: readonly { readonly reason?: string }[];
  /** Of newer APIs: what `reason` is there. */
  readonly details?: readonly { readonly reason?: string }[];
};

const reasons = {
  type: 'array',
  maxItems: 100,
  items: { type: 'object', properties: { reason: { type: 'string' } } },
};

/** Source: https://developers.google.com/youtube/v3/docs/errors */
const readError = answerReader<{ readonly error: GoogleError }>({
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      properties: { message: { type: 'string' }, errors: reasons, details: reasons },
    },
  },
});

type Refusal = { readonly reasons: readonly string[]; readonly message?: string };

function errorIn(response: EgressResponse): Refusal {
  const { errors = [], details = [], message } = readError(jsonOf(response))?.error ?? {};
  return {
    reasons: [...details, ...errors].flatMap(({ reason }) => reason ?? []),
    ...(message !== undefined && { message }),
  };
}

/** Whether YouTube says that something is so: reasons are its stable names of errors. */
export const refusedAs = (response: EgressResponse, reason: string): boolean =>
  errorIn(response).reasons.includes(reason);

type Meaning = {
  readonly code: ChannelErrorCode;
  readonly saying: string;
  readonly limit?: LimitScope;
  readonly waitsUntilMs?: number;
};

const hourMs = 60 * 60_000;
const minuteMs = 60_000;

function meaning(
  response: EgressResponse,
  { reasons: given, message = '' }: Refusal,
  about: RefusedRequest['about'],
  nowMs: number,
): Meaning {
  const { status } = response;
  const reason = given.find((name) => isKnown(name)) ?? '';
  if (dayQuotas.has(reason) || (isRateLimit(reason, status) && /per day/iu.test(message))) {
    const saying = 'takes no more of this from this service today, whichever account it is for';
    return {
      code: 'rate_limited',
      saying,
      limit: 'network',
      waitsUntilMs: nextPacificMidnight(nowMs),
    };
  }
  if (reason === 'uploadLimitExceeded') {
    // A channel may have so many in any 24 hours, so that the next one fits in some time earlier.
    const saying = 'takes no more videos of this channel for now';
    return { code: 'rate_limited', saying, limit: 'channel', waitsUntilMs: nowMs + hourMs };
  }
  if (isRateLimit(reason, status)) {
    return busy(reason, message, retryAtMs(response, nowMs) ?? nowMs + minuteMs);
  }

  return byReason[reason] ?? byStatus(response, given, about);
}

/** Quotas of a project are gone until midnight Pacific. */
const dayQuotas = new Set(['quotaExceeded', 'dailyLimitExceeded']);

const isRateLimit = (reason: string, status: number): boolean =>
  status === 429 || reason === 'rateLimitExceeded' || reason === 'userRateLimitExceeded';

/** Of a minute: of the project, or of one account in it. */
function busy(reason: string, message: string, waitsUntilMs: number): Meaning {
  const isUsers = reason === 'userRateLimitExceeded' || /per user/iu.test(message);
  const limit = reason === '' || isUsers ? 'channel' : 'network';
  return { code: 'rate_limited', saying: takesNoMore[limit], limit, waitsUntilMs };
}

const content = (saying: string): Meaning => ({ code: 'content_refused', saying });
const permission = (saying: string): Meaning => ({ code: 'permission_missing', saying });
const noScope = permission('says that the access token lacks a permission');
const noAccount = permission('says that this account may not do it');
const noVideo = content('refused the video');
const noComments = content('takes no comments under this video');
const notEnabled: Meaning = {
  code: 'internal',
  saying: "says that the YouTube Data API is not enabled for this service's Google project",
};

/** Reasons with a meaning of their own, whatever the request was for. */
const byReason: Readonly<Record<string, Meaning>> = {
  insufficientPermissions: noScope,
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: noScope,
  youtubeSignupRequired: permission('says that this Google account has no YouTube channel'),
  authenticatedUserAccountClosed: noAccount,
  authenticatedUserAccountSuspended: noAccount,
  authenticatedUserNotChannel: noAccount,
  accountDelegationForbidden: noAccount,
  channelClosed: noAccount,
  channelSuspended: noAccount,
  accessNotConfigured: notEnabled,
  SERVICE_DISABLED: notEnabled,
  forbiddenPrivacySetting: noVideo,
  forbiddenLicenseSetting: noVideo,
  forbiddenEmbedSetting: noVideo,
  mediaBodyRequired: { code: 'media_refused', saying: 'found no video in the file' },
  commentsDisabled: noComments,
  videoNotFound: content('cannot find the video that this comment is for'),
};

const isKnown = (reason: string): boolean =>
  Object.hasOwn(byReason, reason) ||
  dayQuotas.has(reason) ||
  reason === 'uploadLimitExceeded' ||
  isRateLimit(reason, 0);

function byStatus(
  { status, headers }: EgressResponse,
  given: readonly string[],
  about: RefusedRequest['about'],
): Meaning {
  // Something in front of YouTube may answer 401 and 403 too, in words of its own.
  const wantsToken = /^bearer\b/iu.test(headers['www-authenticate'] ?? '');
  if (status === 401 && (wantsToken || given.length > 0)) {
    return { code: 'access_lost', saying: 'does not accept the access token' };
  }
  if (status === 403 && given.length > 0) {
    return permission('does not permit this');
  }
  if (status === 400 && given.length > 0 && about !== 'account') {
    // A comment may be good at another time: YouTube calls that failure passing.
    const isPassing = given.includes('processingFailure') || given.includes('badContent');
    return isPassing ? away : content(`refused the ${about}`);
  }

  return status >= 500 ? away : { ...away, saying: 'has no YouTube API at this address' };
}

const away: Meaning = { code: 'network_unavailable', saying: 'could not do it at the moment' };
