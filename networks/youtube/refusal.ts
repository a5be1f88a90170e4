import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, limitReached } from '../answer.ts';
import { acceptedAfter, type Purpose } from '../http.ts';
import { NetworkError } from '../network.ts';

export type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message. */
  readonly accessToken: string;
  /** The subject of the request, and of a refusal of its content. */
  readonly about: 'video' | 'comment' | 'thumbnail' | 'account';
};

/** Converts an error response to a NetworkError. */
export function refusal(
  response: EgressResponse,
  { purpose, accessToken, about }: RefusedRequest,
  nowMs: number = Date.now(),
): NetworkError {
  const error = errorIn(response);
  const { code, saying, limit, waitsUntilMs } = meaning(response, error, about, nowMs);
  const serverMessage = quote(error.message?.replaceAll(/<[^<>]*>/gu, ''), [accessToken]);
  const { status } = response;
  const message = `YouTube ${saying} (HTTP ${status})${serverMessage && `: ${serverMessage}`}`;
  return new NetworkError(code, message.endsWith('."') ? message : `${message}.`, {
    accepted: acceptedAfter(purpose, status >= 300 && status < 500 && status !== 408),
    retryAtMs: waitsUntilMs ?? retryAtMs(response, nowMs),
    limit: limit ?? 'channel',
    server: 'answered',
  });
}

/** For a success status with an unexpected body: the video may exist all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError('network_unavailable', 'YouTube returned an unexpected response.', {
    accepted: acceptedAfter(purpose, false),
    server: 'answered',
  });

type GoogleError = {
  readonly message?: string;
  readonly errors?: readonly { readonly reason?: string }[];
  /** In newer APIs; equivalent to `reason`. */
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

/** Whether a response has a reason: YouTube's stable name of an error. */
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
    const saying = 'accepts no more requests of this kind from this service today, for any account';
    return {
      code: 'rate_limited',
      saying,
      limit: 'network',
      waitsUntilMs: nextPacificMidnight(nowMs),
    };
  }
  if (reason === 'uploadLimitExceeded') {
    // The limit covers any 24 hours, so the next video may be accepted earlier than a day from now.
    const saying = 'takes no more videos of this channel for now';
    return { code: 'rate_limited', saying, limit: 'channel', waitsUntilMs: nowMs + hourMs };
  }
  if (isRateLimit(reason, status)) {
    return busy(reason, message, retryAtMs(response, nowMs) ?? nowMs + minuteMs);
  }

  return byReason[reason] ?? byStatus(response, given, about);
}

/** Quotas of a project are reset at midnight Pacific. */
const dayQuotas = new Set(['quotaExceeded', 'dailyLimitExceeded']);

const isRateLimit = (reason: string, status: number): boolean =>
  status === 429 || reason === 'rateLimitExceeded' || reason === 'userRateLimitExceeded';

/** A limit per minute, of the project or of one account in it. */
function busy(reason: string, message: string, waitsUntilMs: number): Meaning {
  const isUsers = reason === 'userRateLimitExceeded' || /per user/iu.test(message);
  const limit = reason === '' || isUsers ? 'channel' : 'network';
  return { code: 'rate_limited', saying: limitReached[limit], limit, waitsUntilMs };
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

/** Reasons whose meaning does not depend on the request. */
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
  // A proxy before YouTube may also answer 401 and 403, in a format of its own.
  const wantsToken = /^bearer\b/iu.test(headers['www-authenticate'] ?? '');
  if (status === 401 && (wantsToken || given.length > 0)) {
    return { code: 'access_lost', saying: 'does not accept the access token' };
  }
  if (status === 403 && given.length > 0) {
    return permission('does not permit this');
  }
  if (status === 400 && given.length > 0 && about !== 'account') {
    // YouTube documents these failures of comments as temporary.
    const isPassing = given.includes('processingFailure') || given.includes('badContent');
    return isPassing ? away : content(`refused the ${about}`);
  }

  return status >= 500 ? away : { ...away, saying: 'has no YouTube API at this address' };
}

const away: Meaning = { code: 'network_unavailable', saying: 'is not available at the moment' };

const clock = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/Los_Angeles',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
});

/**
 * When YouTube's quotas are reset: the next midnight in the Pacific time zone, in milliseconds since 1970.
 *
 * Source: https://developers.google.com/youtube/v3/determine_quota_cost
 */
export function nextPacificMidnight(nowMs: number): number {
  const { year, month, day } = localTime(nowMs);
  // UTC-7 in summer, UTC-8 in winter. Clocks change at two in the morning, so each day has exactly one midnight.
  const [summer, winter] = [7, 8].map((hour) => Date.UTC(year, month - 1, day + 1, hour));
  return localTime(summer ?? 0).hour === 0 ? (summer ?? 0) : (winter ?? 0);
}

function localTime(atMs: number) {
  const parts = new Map(clock.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return { year: part('year'), month: part('month'), day: part('day'), hour: part('hour') };
}
