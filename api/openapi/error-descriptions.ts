import type { ErrorCode } from '../../domain/errors.ts';
import { noPlan, quotaExceeded } from '../../domain/quotas.ts';
import { at, type DescribedError } from './described-error.ts';
import { postErrors } from './post-errors.ts';

const { message: error, details = [] } = quotaExceeded('scheduled', 10_000, 10_000);
const quotaExample = { error, details };

const noScope =
  'This API key lacks the scope posts:publish. Use a key that has it, or create one: POST /keys.';
const tooStrong =
  'An API key can only create, change or revoke keys with no more rights than its own: it lacks posts:publish.';

/** Description and example of each error code. */
export const errorDescriptions: Readonly<Record<ErrorCode, DescribedError>> = {
  ...postErrors,
  invalid_request: {
    when: 'Broken JSON, an unknown field or query parameter, or a value of the wrong type; `details` names each.',
    example: {
      error: 'The request body does not fit: Unknown field `bdy`. Did you mean `body`?',
      ...at('/bdy', 'Unknown field `bdy`. Did you mean `body`?'),
    },
  },
  idempotency_key_reused: {
    when: 'The idempotency key was used before, by another call or with a different request.',
    example: {
      error:
        'This idempotency key made post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d with another body. Use a new key for a new post.',
    },
  },
  invalid_webhook_url: {
    when: 'The URL is not https, carries credentials, or leads to an address that is not public.',
    example: {
      error: 'The URL must begin with https://.',
      ...at('/url', 'The URL must begin with https://.'),
    },
  },
  invalid_events: {
    when: '`events` is empty or names an unknown event.',
    example: {
      error: 'events has unknown names: post.sent.',
      ...at('/events/0', 'events has unknown names: post.sent.'),
    },
  },
  unauthorized: {
    when: 'The API key is missing, unknown, expired or revoked.',
    example: { error: 'Send your API key as "Authorization: Bearer svc_live_…".' },
  },
  plan_required: {
    when: 'The workspace has no active plan. The operator of the service can set one.',
    example: { error: noPlan },
  },
  scope_missing: {
    when: 'The API key lacks the scope of this call, which the message and `details` name.',
    example: { error: noScope, details: [{ path: '', message: noScope, scope: 'posts:publish' }] },
  },
  rights_exceeded: {
    when: 'The key has, or would have, rights that the calling key lacks; `details` names each.',
    example: { error: tooStrong, ...at('/scopes', 'it lacks posts:publish') },
  },
  channel_not_allowed: {
    when: 'The API key is restricted to some channels, and this call would change something on others.',
    example: { error: 'This post has channels that this API key may not use.' },
  },
  key_limit_reached: {
    when: 'The workspace has 50 API keys already.',
    example: { error: 'A workspace has at most 50 API keys. Revoke one first: DELETE /keys/{id}.' },
  },
  wrong_key_type: {
    when: 'An operator key in a call of a workspace, or an API key in a call of the operator.',
    example: {
      error:
        'This call acts within a workspace and needs one of its API keys (svc_live_…); an operator key only manages workspaces.',
    },
  },
  quota_exceeded: {
    when: 'A quota of the workspace is used up: scheduled posts, drafts, bytes of text, files, or bytes of files. `details` has `quota`, `limit` and `used`. Existing posts and files are kept, and scheduled posts are published.',
    example: quotaExample,
  },
  not_found: {
    when: 'The workspace has nothing with this id.',
    example: { error: 'There is no post "0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d".' },
  },
  method_not_allowed: {
    when: 'The path does not support this method.',
    example: { error: '/api/v1/me does not support DELETE; see Allow.' },
  },
  webhook_limit_reached: {
    when: 'The workspace has 10 webhook endpoints already.',
    example: { error: 'A workspace has at most 10 webhook endpoints. Delete one first.' },
  },
  channel_not_connected: {
    when: 'The access of the channel was lost, and its account is not connected again yet.',
    example: {
      error:
        'The account @ana@social.example on mastodon is not connected: connect it again, then retry its posts.',
    },
  },
  network_not_configured: {
    when: 'The operator has not yet configured the network for connecting accounts; the message names the missing settings.',
    example: {
      error:
        'Accounts of x cannot be connected yet: the operator has to set PUNCTUAL_X_CLIENT_ID and PUNCTUAL_X_CLIENT_SECRET.',
    },
  },
  delivery_not_final: {
    when: 'The delivery is pending.',
    example: { error: 'This delivery is pending. It can be replayed when it has ended.' },
  },
  webhook_disabled: {
    when: 'The endpoint is disabled, so nothing can be sent to it.',
    example: {
      error: 'This webhook endpoint is disabled. Enable it first: PATCH it with {"enabled": true}.',
    },
  },
  payload_too_large: {
    when: 'The request body is larger than 1 MB, or an uploaded file larger than 200 MB.',
    example: { error: 'The request body is larger than 1 MB.' },
  },
  unsupported_media_type: {
    when: 'The request body is not sent as `application/json` (an upload: `multipart/form-data`), or is compressed (`Content-Encoding`).',
    example: { error: 'Send the body as JSON, with Content-Type: application/json.' },
  },
  rate_limited: {
    when: 'There were too many calls in a minute with this API key (`requests`, `writes`), or with wrong keys from your address (`wrong-keys`); or too many are under way at the same time with this API key. Try again after `Retry-After` seconds.',
    example: { error: 'More than 120 requests with this API key in a minute. Try again in 23 s.' },
  },
  internal: {
    when: 'Something went wrong here; the operator finds it in the log by the `X-Request-Id`.',
    example: { error: 'Something went wrong here. Tell the operator the X-Request-Id.' },
  },
  unavailable: {
    when: 'A part of the service is unavailable or busy. Try again after `Retry-After` seconds.',
    example: {
      error:
        'The database is unavailable or busy. Try again; with an Idempotency-Key nothing is created twice.',
    },
  },
};
