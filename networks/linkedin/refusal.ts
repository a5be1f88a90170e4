import { listOf, mayHave, text } from '../../domain/json-schema.ts';
import { answerReader, retryAtMs } from '../answer.ts';
import { refusedFile, refusedPost, unavailable, type Dialect, type Refused } from '../client.ts';

/** The body of an error response. Newer APIs send no `serviceErrorCode`, some only a message. */
const readRefused = answerReader(
  mayHave({
    serviceErrorCode: { type: 'integer' },
    code: text,
    message: text,
    errorDetails: mayHave({ inputErrors: listOf(mayHave({ code: text })) }),
  }),
);

type Said = NonNullable<ReturnType<typeof readRefused>>;

const tokenFailures = new Set<number | string | undefined>([
  65_600,
  65_601,
  65_602,
  'INVALID_ACCESS_TOKEN',
  'REVOKED_ACCESS_TOKEN',
  'EXPIRED_ACCESS_TOKEN',
]);

const codesOf = ({ code, errorDetails }: Said): readonly (string | undefined)[] => [
  code,
  ...(errorDetails?.inputErrors ?? []).map((error) => error.code),
];

export const isDuplicate = (status: number, said: Said): boolean =>
  (status === 422 || status === 409) && codesOf(said).includes('DUPLICATE_POST');

const isContent = ({ status }: Refused<Said>): boolean =>
  status >= 400 && status < 500 && ![401, 404, 405, 408, 410].includes(status);

const saysLater = (said: Said): boolean =>
  codesOf(said).includes('MEDIA_ASSET_WAITING_UPLOAD') ||
  /still (?:being )?process|waiting.?upload/iv.test(said.message ?? '');

/**
 * Sources: https://learn.microsoft.com/linkedin/shared/api-guide/concepts/error-handling,
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 */
export const dialect: Dialect<Said> = {
  name: 'LinkedIn',
  read: readRefused,
  wordsOf: ({ message, code }) => message ?? code,
  saysGone: ({ message }) => message !== undefined,
  refusals: [
    {
      status: 401,
      if: ({ said }) => tokenFailures.has(said.serviceErrorCode) || tokenFailures.has(said.code),
      code: 'access_lost',
      saying: 'does not accept the access token',
    },
    {
      status: 403,
      code: 'permission_missing',
      saying: ({ needs }) =>
        `does not permit this${needs === undefined ? '' : ` without ${needs}`}`,
    },
    {
      status: 426,
      code: 'internal',
      saying: ({ headers: { 'linkedin-version': version } = {} }) =>
        version === undefined
          ? 'no longer serves a call without a version. The operator has to update Punctual'
          : `no longer serves version ${version} of its API. The operator has to set PUNCTUAL_LINKEDIN_VERSION to a newer one`,
    },
    {
      status: 429,
      code: 'rate_limited',
      // `Resource level throttle APPLICATION DAY limit …` concerns the app, which all our channels share.
      limit: ({ said }) => (/\bAPPLICATION\b/v.test(said.message ?? '') ? 'network' : 'channel'),
      // LinkedIn names no reset time: all limits are per day and end at midnight UTC.
      untilMs: ({ response, nowMs }) =>
        retryAtMs(response, nowMs) ?? new Date(nowMs).setUTCHours(24, 0, 0, 0),
    },
    {
      if: ({ status, said }) => isDuplicate(status, said),
      code: 'duplicate',
      saying: 'has this post already',
    },
    {
      on: 'create',
      if: ({ said }) => codesOf(said).includes('MEDIA_ASSET_PROCESSING_FAILED'),
      code: 'media_refused',
      saying: 'cannot use a file of the post',
    },
    {
      on: 'create',
      if: (refused) => isContent(refused) && saysLater(refused.said),
      code: 'network_unavailable',
      saying: 'is still processing a file of the post',
    },
    { on: 'create', if: isContent, ...refusedPost },
    {
      on: 'upload',
      if: (refused) => isContent(refused) && !codesOf(refused.said).includes('EXPIRED_UPLOAD_URL'),
      ...refusedFile,
    },
    unavailable('could not do it at the moment', 'returned an unexpected response'),
  ],
};
