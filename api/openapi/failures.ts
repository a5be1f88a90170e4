import type { ErrorCode, ErrorDetail } from '../../domain/errors.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import { errorSchema, httpStatusOf } from '../http/errors.ts';
import type { Route } from '../http/route.ts';
import { headersOfErrors } from './components.ts';
import { ids } from './example-of.ts';
import type { SchemaNames } from './name-schemas.ts';

/** Error codes of a route by status: its own and the common ones. */
export function failuresOf({
  method,
  path,
  errors = [],
  scope,
  requestHeaders = {},
}: Route): Map<number, ErrorCode[]> {
  const codes = new Set<ErrorCode>([
    'invalid_request',
    ...errors,
    ...('Idempotency-Key' in requestHeaders ? (['idempotency_key_reused'] as const) : []),
    'unauthorized',
    'wrong_key_type',
    'rate_limited',
  ]);
  if (scope !== null) {
    codes.add('scope_missing');
  }

  if (path.startsWith('/posts/{id}') && method !== 'get') {
    codes.add('channel_not_allowed');
  }

  if (path.includes('{')) {
    codes.add('not_found');
  }

  // A call without a body refuses the one that it gets.
  if (method !== 'get') {
    codes.add('payload_too_large').add('unsupported_media_type');
  }

  codes.add('internal').add('unavailable');
  return Map.groupBy(codes, (code) => httpStatusOf[code]);
}

/** An error code that is the only one of its status is described once and referenced by every route. */
export const errorAnswer = (schemas: SchemaNames, codes: readonly ErrorCode[]): object => {
  const [code] = codes;
  return codes.length === 1 ? { $ref: `#/components/responses/${code}` } : describe(schemas, codes);
};

/** The referenced responses, and the one for an unsupported method. */
export function errorComponents(
  schemas: SchemaNames,
  routes: readonly Route[],
): Readonly<Record<string, object>> {
  const single = routes
    .flatMap((route) => [...failuresOf(route).values()])
    .flatMap(([code, ...others]) => (code === undefined || others.length > 0 ? [] : [code]));
  const codes = new Set<ErrorCode>([...single, 'method_not_allowed']);
  return Object.fromEntries([...codes].toSorted().map((code) => [code, describe(schemas, [code])]));
}

function describe(schemas: SchemaNames, codes: readonly ErrorCode[]): object {
  const [first] = codes;
  return {
    description:
      codes.length === 1 && first !== undefined
        ? errorDescriptions[first]
        : codes.map((code) => `- \`${code}\`: ${errorDescriptions[code]}`).join('\n'),
    headers: headersOfErrors(codes),
    content: {
      'application/json': {
        schema: {
          // The published document leaves out the second part: generators would make a type for each answer.
          allOf: [
            schemas.refer(errorSchema, 'ApiError'),
            { type: 'object', properties: { code: { enum: codes } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

const exampleOf = (code: ErrorCode): object => {
  const { error, ...details } = errorExamples[code] ?? { error: errorDescriptions[code] };
  return { value: { error, code, ...details } };
};

const errorDescriptions: Readonly<Record<ErrorCode, string>> = {
  empty_body: 'There is neither a text nor media, or one of the texts is blank.',
  invalid_channel_ids:
    'A channel id is malformed, unknown or not among the channels of the post, or one is left out on which a part of the thread is live.',
  invalid_channel_options:
    "A channel's network does not support this option or its value; `GET /networks` has the schema of its options.",
  invalid_scheduled_at:
    'The time is malformed, without an offset, more than 5 minutes past, or more than two years ahead.',
  no_channels: 'A scheduled post names no channel.',
  invalid_content:
    'A chosen network does not accept this text or these files; the message names channel, rule, limit and actual value.',
  invalid_media_ids:
    'A media id is malformed or unknown, its file was deleted, or an alt text is for a file that the post or its part does not have.',
  invalid_media_url:
    'A file could not be taken from its URL: not https, not public, too large, not responding, or neither an image nor a video.',
  invalid_media:
    'The upload has no file, or its file is not an image or a video that a network accepts, is an animation of more than 10,000 frames, or takes too much time or memory to inspect.',
  external_id_taken: 'Another post of the workspace has the `external_id`; the message names it.',
  post_not_editable:
    'The post is being published or has ended; only a draft or a scheduled post can be changed.',
  post_being_sent:
    'A request to a network is under way, or its outcome is not known yet, so the post cannot be deleted now.',
  post_deleted: 'This idempotency key created a post that was deleted within the last 24 hours.',
  nothing_to_copy:
    '`only` is `failed` and no channel failed; or all channels to copy were disconnected; or no text or file of them is left; or the network no longer accepts an option.',
  post_not_cancellable: 'The post is a draft or has ended, so there is nothing to stop.',
  nothing_to_retry: 'The post has not ended, no channel of it failed, or a file of it was deleted.',
  media_in_use:
    'A scheduled post uses the file, or the defaults of a channel name it. For a key with `channel_ids`: a scheduled post on other channels has it, or, when it is deleted, any post that the key may not change.',
  nothing_to_settle:
    'The channel is not unconfirmed, and was not settled within the last day; or it was sent again or unpublished since; or the URL belongs to another post.',
  settle_too_early:
    '`url` is null, and the network received the request a moment ago and may still be processing it. Try again after `Retry-After`.',
  nothing_to_unpublish:
    'Nothing of the post is live on the channels; or publishing has not ended on one of them; or one is unconfirmed.',
  invalid_request:
    'Broken JSON, an unknown field or query parameter, or a value of the wrong type; `details` names each.',
  idempotency_key_reused:
    'The idempotency key was used before: by another call, with a different request, or by another API key.',
  invalid_webhook_url:
    'The URL is not https, carries credentials, or leads to an address that is not public.',
  invalid_events: '`events` is empty or names an unknown event.',
  unauthorized: 'The API key is missing, unknown, expired or revoked.',
  plan_required: 'The workspace has no active plan. The operator of the service can set one.',
  scope_missing: 'The API key lacks the scope of this call, which the message and `details` name.',
  rights_exceeded:
    'The key has, or would have, rights that the calling key lacks; `details` names each.',
  channel_not_allowed:
    'The API key is restricted to some channels, and this call would change something on others.',
  key_limit_reached:
    'The workspace has 50 API keys already, or within 24 hours the calling key made 100 or all keys 1,000.',
  wrong_key_type:
    'An operator key in a call of a workspace, or an API key in a call of the operator.',
  quota_exceeded:
    'A quota of the workspace is used up: scheduled posts, drafts, bytes of text, files, or bytes of files. `details` has `quota`, `limit` and `used`. Existing posts and files are kept, and scheduled posts are published.',
  not_found: 'The workspace has nothing with this id.',
  method_not_allowed: 'The path does not support this method.',
  webhook_limit_reached: 'The workspace has 10 webhook endpoints already.',
  channel_not_connected:
    'The access of the channel was lost, and its account is not connected again yet.',
  network_not_configured:
    'The operator has not yet configured the network for connecting accounts; the message names the missing settings.',
  delivery_not_final: 'An attempt of the delivery is under way or due now.',
  webhook_disabled: 'The endpoint is disabled, so nothing can be sent to it.',
  payload_too_large:
    'The request body is larger than 1 MB, or an uploaded file larger than 200 MB.',
  unsupported_media_type:
    'The request body is not sent as `application/json` (an upload: `multipart/form-data`), or is compressed (`Content-Encoding`).',
  rate_limited:
    'There were too many calls in a minute with this API key (`requests`, `writes`), with all keys of its workspace (`workspace-requests`, `workspace-writes`: ten times as many), or with wrong keys from your address (`wrong-keys`); or too many are under way at the same time with this API key, or with bodies of over 64 kB in its workspace. Try again after `Retry-After` seconds.',
  internal: 'Something went wrong here; the operator finds it in the log by the `X-Request-Id`.',
  unavailable:
    'A part of the service is unavailable or busy. Try again after `Retry-After` seconds.',
};

type ErrorExample = { readonly error: string; readonly details?: readonly ErrorDetail[] };

const withDetail = (message: string, detail: Omit<ErrorDetail, 'message'>): ErrorExample => ({
  error: message,
  details: [{ message, ...detail }],
});

const { message: error, details = [] } = quotaExceeded('scheduled', 10_000, 10_000);

/** Examples with details. For any other error the example says when it occurs. */
const errorExamples: Readonly<Partial<Record<ErrorCode, ErrorExample>>> = {
  invalid_request: withDetail('Unknown field `bdy`. Did you mean `body`?', { path: '/bdy' }),
  invalid_content: withDetail(
    'mastodon channel @ana@social.example: The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 512.',
    { path: '/body', channel_id: ids.channel, rule: 'text_length', limit: 500, actual: 512 },
  ),
  scope_missing: withDetail('This API key lacks the scope posts:publish. Use a key that has it.', {
    path: '',
    scope: 'posts:publish',
  }),
  quota_exceeded: { error, details },
};
