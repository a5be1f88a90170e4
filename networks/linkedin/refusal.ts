import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, limitReached } from '../answer.ts';
import { acceptedAfter, type Purpose } from '../http.ts';
import { NetworkError } from '../network.ts';

/** The body of an error response. Newer APIs send no `serviceErrorCode`, some only a message. */
type LinkedinErrorBody = {
  readonly serviceErrorCode?: number;
  readonly code?: string;
  readonly message?: string;
  readonly errorDetails?: { readonly inputErrors?: readonly { readonly code?: string }[] };
};

const readRefused = answerReader<LinkedinErrorBody>({
  type: 'object',
  properties: {
    serviceErrorCode: { type: 'integer' },
    code: { type: 'string' },
    message: { type: 'string' },
    errorDetails: {
      type: 'object',
      properties: {
        inputErrors: {
          type: 'array',
          items: { type: 'object', properties: { code: { type: 'string' } } },
        },
      },
    },
  },
});

/** The content of an error response; empty when LinkedIn did not write it. */
export const refusedBy = (response: EgressResponse): LinkedinErrorBody =>
  readRefused(jsonOf(response)) ?? {};

type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message. */
  readonly accessToken: string;
  /** The API version. */
  readonly version: string;
  /** The name of the uploaded file, for the message. */
  readonly fileName?: string | undefined;
  /** The missing permission when LinkedIn forbids the request, as the end of a sentence. */
  readonly needs?: string;
};

/** Converts an error response to a NetworkError. */
export function refusal(
  response: EgressResponse,
  request: RefusedRequest,
  nowMs: number = Date.now(),
): NetworkError {
  const { status } = response;
  const refused = refusedBy(response);
  const { code, saying } = meaning(status, refused, request);
  const certainlyNot = status >= 300 && status < 500 && status !== 408;
  const serverMessage = quote(refused.message ?? refused.code, [request.accessToken]);
  return new NetworkError(
    code,
    `LinkedIn ${saying} (HTTP ${status})${serverMessage && `: ${serverMessage}`}.`,
    {
      accepted: acceptedAfter(request.purpose, certainlyNot),
      limit: limitIn(refused),
      server: 'answered',
      retryAtMs:
        retryAtMs(response, nowMs) ?? (code === 'rate_limited' ? nextMidnightMs(nowMs) : undefined),
    },
  );
}

/** Whether an upload URL has expired; the upload then starts again. */
export const hasExpired = (response: EgressResponse): boolean =>
  [401, 403, 404, 410].includes(response.status) ||
  refusedBy(response).code === 'EXPIRED_UPLOAD_URL';

/** Converts a refused upload of bytes. A forbidden upload URL says nothing about the account. */
export const putRefusal = (
  response: EgressResponse,
  access: Pick<RefusedRequest, 'accessToken' | 'version'>,
  fileName: string,
): NetworkError =>
  hasExpired(response)
    ? new NetworkError(
        'network_unavailable',
        `LinkedIn no longer accepts the file "${fileName}" at the upload URL that it gave (HTTP ${response.status}).`,
        { accepted: 'no', server: 'answered' },
      )
    : refusal(response, { ...access, purpose: 'upload', fileName });

/** For a success status with an unexpected body: the post may exist all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError('network_unavailable', 'LinkedIn returned an unexpected response.', {
    accepted: acceptedAfter(purpose, false),
    server: 'answered',
  });

/** LinkedIn names no reset time: all limits are per day and end at midnight UTC. */
const nextMidnightMs = (nowMs: number): number => new Date(nowMs).setUTCHours(24, 0, 0, 0);

/** `Resource level throttle APPLICATION DAY limit …` concerns the app, which all our channels share. */
const limitIn = ({ message = '' }: LinkedinErrorBody): LimitScope =>
  /\bAPPLICATION\b/v.test(message) ? 'network' : 'channel';

const tokenFailures = new Set<number | string>([
  65_600,
  65_601,
  65_602,
  'INVALID_ACCESS_TOKEN',
  'REVOKED_ACCESS_TOKEN',
  'EXPIRED_ACCESS_TOKEN',
]);

type Meaning = { readonly code: ChannelErrorCode; readonly saying: string };

/**
 * Sources: https://learn.microsoft.com/linkedin/shared/api-guide/concepts/error-handling,
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 */
function meaning(status: number, refused: LinkedinErrorBody, request: RefusedRequest): Meaning {
  const { serviceErrorCode = 0, code: name = '' } = refused;
  if (status === 401 && (tokenFailures.has(serviceErrorCode) || tokenFailures.has(name))) {
    return { code: 'access_lost', saying: 'does not accept the access token' };
  }
  if (status === 403) {
    const needs = request.needs === undefined ? '' : ` without ${request.needs}`;
    return { code: 'permission_missing', saying: `does not permit this${needs}` };
  }
  if (status === 426) {
    const setting = 'The operator has to set PUNCTUAL_LINKEDIN_VERSION to a newer one';
    return {
      code: 'internal',
      saying: `no longer serves version ${request.version} of its API. ${setting}`,
    };
  }
  if (status === 429) {
    return { code: 'rate_limited', saying: limitReached[limitIn(refused)] };
  }
  if (isDuplicate(status, refused)) {
    return { code: 'duplicate', saying: 'has this post already' };
  }
  return aboutContent(status, refused, request) ?? unavailable(status);
}

export const isDuplicate = (status: number, refused: LinkedinErrorBody): boolean =>
  (status === 422 || status === 409) && codesOf(refused).includes('DUPLICATE_POST');

const codesOf = ({ code, errorDetails }: LinkedinErrorBody): readonly string[] =>
  [code, ...(errorDetails?.inputErrors ?? []).map((error) => error.code)].filter(
    (one) => one !== undefined,
  );

/** Whether a file of the post is not ready yet. */
const saysLater = (codes: readonly string[], message = ''): boolean =>
  codes.includes('MEDIA_ASSET_WAITING_UPLOAD') ||
  /still (?:being )?process|waiting.?upload/iv.test(message);

function aboutContent(
  status: number,
  refused: LinkedinErrorBody,
  { purpose, fileName }: RefusedRequest,
): Meaning | null {
  const isContent = status >= 400 && status < 500 && ![401, 404, 405, 408, 410].includes(status);
  const codes = codesOf(refused);
  if (purpose === 'create' && codes.includes('MEDIA_ASSET_PROCESSING_FAILED')) {
    return { code: 'media_refused', saying: 'cannot use a file of the post' };
  }
  if (purpose === 'create' && isContent && saysLater(codes, refused.message)) {
    return { code: 'network_unavailable', saying: 'is still processing a file of the post' };
  }
  if (purpose === 'create' && isContent) {
    return { code: 'content_refused', saying: 'refused the post' };
  }
  return purpose === 'upload' && isContent && !codes.includes('EXPIRED_UPLOAD_URL')
    ? { code: 'media_refused', saying: `refused the file "${fileName}"` }
    : null;
}

const unavailable = (status: number): Meaning => ({
  code: 'network_unavailable',
  saying: status >= 500 ? 'could not do it at the moment' : 'returned an unexpected response',
});
