import { having, listOf, mayHave, text } from '../../domain/json-schema.ts';
import { answerReader, retryAtMs } from '../answer.ts';
import { unavailable, type Dialect, type Refused } from '../client.ts';

/** Newer APIs have their reasons in `details`. */
const reasonsSchema = listOf(mayHave({ reason: text }), 100);

/** Source: https://developers.google.com/youtube/v3/docs/errors */
const readError = answerReader(
  having({ error: mayHave({ message: text, errors: reasonsSchema, details: reasonsSchema }) }),
);

/** An error, with YouTube's stable names of it. */
type Said = { readonly reasons: readonly string[]; readonly message: string };

function readSaid(value: unknown): Said | null {
  const error = readError(value)?.error;
  const all = [...(error?.details ?? []), ...(error?.errors ?? [])];
  const reasons = all.flatMap(({ reason }) => reason ?? []);
  return error ? { reasons, message: error.message ?? '' } : null;
}

const because =
  (...names: readonly string[]) =>
  ({ said: { reasons = [] } }: Refused<Said>): boolean =>
    reasons.some((reason) => names.includes(reason));

const isDayQuota = because('quotaExceeded', 'dailyLimitExceeded');

const isRateLimit = (refused: Refused<Said>): boolean =>
  refused.status === 429 || because('rateLimitExceeded', 'userRateLimitExceeded')(refused);

const isAnswered = ({ said }: Refused<Said>): boolean => (said.reasons ?? []).length > 0;

const hourMs = 60 * 60_000;

const minuteMs = 60_000;

export const dialect: Dialect<Said> = {
  name: 'YouTube',
  read: readSaid,
  wordsOf: ({ message }) => message?.replaceAll(/<[^<>]*>/gu, ''),
  endsSentences: true,
  saysGone: ({ reasons = [] }, { about }) => reasons.includes(`${about}NotFound`),
  refusals: [
    {
      if: (refused) =>
        isDayQuota(refused) ||
        (isRateLimit(refused) && /per day/iu.test(refused.said.message ?? '')),
      code: 'rate_limited',
      saying: 'accepts no more requests of this kind from this service today, for any account',
      limit: 'network',
      untilMs: ({ nowMs }) => nextPacificMidnight(nowMs),
    },
    {
      if: because('uploadLimitExceeded'),
      code: 'rate_limited',
      saying: 'takes no more videos of this channel for now',
      // The limit covers any 24 hours, so the next video may be accepted earlier than a day from now.
      untilMs: ({ nowMs }) => nowMs + hourMs,
    },
    {
      // A limit per minute, of the project or of one account in it.
      if: isRateLimit,
      code: 'rate_limited',
      limit: (refused) =>
        because('rateLimitExceeded')(refused) && !/per user/iu.test(refused.said.message ?? '')
          ? 'network'
          : 'channel',
      untilMs: ({ response, nowMs }) => retryAtMs(response, nowMs) ?? nowMs + minuteMs,
    },
    {
      if: because('insufficientPermissions', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'),
      code: 'permission_missing',
      saying: 'says that the access token lacks a permission',
    },
    {
      if: because('youtubeSignupRequired'),
      code: 'permission_missing',
      saying: 'says that this Google account has no YouTube channel',
    },
    {
      if: because(
        'authenticatedUserAccountClosed',
        'authenticatedUserAccountSuspended',
        'authenticatedUserNotChannel',
        'accountDelegationForbidden',
        'channelClosed',
        'channelSuspended',
      ),
      code: 'permission_missing',
      saying: 'says that this account may not do it',
    },
    {
      if: because('accessNotConfigured', 'SERVICE_DISABLED'),
      code: 'internal',
      saying: "says that the YouTube Data API is not enabled for this service's Google project",
    },
    {
      if: because('forbiddenPrivacySetting', 'forbiddenLicenseSetting', 'forbiddenEmbedSetting'),
      code: 'content_refused',
      saying: 'refused the video',
    },
    {
      if: because('mediaBodyRequired'),
      code: 'media_refused',
      saying: 'found no video in the file',
    },
    {
      if: because('commentsDisabled'),
      code: 'content_refused',
      saying: 'takes no comments under this video',
    },
    {
      if: because('videoNotFound'),
      code: 'content_refused',
      saying: 'cannot find the video that this comment is for',
    },
    {
      // A proxy before YouTube may also answer 401 and 403, in a format of its own.
      status: 401,
      if: (refused) =>
        isAnswered(refused) ||
        /^bearer\b/iu.test(refused.response.headers['www-authenticate'] ?? ''),
      code: 'access_lost',
      saying: 'does not accept the access token',
    },
    { status: 403, if: isAnswered, code: 'permission_missing', saying: 'does not permit this' },
    {
      // YouTube documents these failures of comments as temporary.
      status: 400,
      if: because('processingFailure', 'badContent'),
      code: 'network_unavailable',
      saying: 'is not available at the moment',
    },
    {
      status: 400,
      if: (refused) => isAnswered(refused) && refused.about !== 'account',
      code: 'content_refused',
      saying: ({ about }) => `refused the ${about}`,
    },
    unavailable('is not available at the moment', 'has no YouTube API at this address'),
  ],
};

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
