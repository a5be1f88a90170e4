import type { ErrorCode, ErrorDetail } from '../../domain/errors.ts';
import { noPlan, quotaExceeded } from '../../domain/quotas.ts';

/** How the document describes an error code. */
type DescribedError = {
  /** When the error occurs. */
  readonly when: string;
  readonly example: { readonly error: string; readonly details?: readonly ErrorDetail[] };
};

/** The details of an example with one problem. */
const at = (path: string, message: string): Pick<DescribedError['example'], 'details'> => ({
  details: [{ path, message }],
});

const { message: error, details = [] } = quotaExceeded('scheduled', 10_000, 10_000);
const quotaExample = { error, details };

const noScope =
  'This API key lacks the scope posts:publish. Use a key that has it. A key with all scopes can create one with POST /keys; the operator can create one with the CLI.';
const tooStrong =
  'An API key can only create, change or revoke keys with no more rights than its own: it lacks posts:publish.';

export const errorDescriptions: Readonly<Record<ErrorCode, DescribedError>> = {
  empty_body: {
    when: 'There is neither a text nor media, or one of the texts is blank.',
    example: { error: 'A post needs a body, a thread, channel_bodies or media.' },
  },
  invalid_channel_ids: {
    when: 'A channel id is malformed, unknown or not among the channels of the post, or one is left out on which a part of the thread is live.',
    example: {
      error: 'No channel of this workspace has the id 42. GET /channels lists the ids.',
      ...at('/channel_ids/0', 'No channel of this workspace has the id 42.'),
    },
  },
  invalid_channel_options: {
    when: "A channel's network does not support this option or its value; `GET /networks` has the schema of its options.",
    example: {
      error:
        'mastodon channel @ana@social.example (0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31): Unknown field `visibilty`. Did you mean `visibility`?',
      ...at(
        '/channel_options/0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31/visibilty',
        'Unknown field `visibilty`. Did you mean `visibility`?',
      ),
    },
  },
  invalid_scheduled_at: {
    when: 'The time is malformed, without an offset, more than 5 minutes past, or more than two years ahead.',
    example: {
      error: 'scheduled_at is more than two years ahead. Send one up to 2029-02-02T09:30:00.000Z.',
      ...at(
        '/scheduled_at',
        'is more than two years ahead. Send one up to 2029-02-02T09:30:00.000Z',
      ),
    },
  },
  no_channels: {
    when: 'A scheduled post names no channel.',
    example: { error: 'Scheduling needs at least one channel in channel_ids.' },
  },
  invalid_content: {
    when: 'A chosen network does not accept this text or these files; the message names channel, rule, limit and actual value.',
    example: {
      error:
        'mastodon channel @ana@social.example (0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31): The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 512.',
      details: [
        {
          path: '/body',
          message:
            'mastodon channel @ana@social.example (0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31): The text is too long for this Mastodon server: it takes 500 characters (a link counts 23), and this is 512.',
          channel_id: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31',
          rule: 'text_length',
          limit: 500,
          actual: 512,
        },
      ],
    },
  },
  invalid_media_ids: {
    when: 'A media id is malformed or unknown, its file was deleted, or an alt text is for a file that the post or its part does not have.',
    example: {
      error: 'No media file of this workspace has the id 42. GET /media lists the ids.',
      ...at('/media_ids/0', 'No media file of this workspace has the id 42.'),
    },
  },
  invalid_media_url: {
    when: 'A file could not be taken from its URL: not https, not public, too large, not responding, or neither an image nor a video.',
    example: {
      error: 'https://example.com/cat.jpg: the server answered 404.',
      ...at('/media_urls/0', 'the server answered 404'),
    },
  },
  invalid_media: {
    when: 'The upload has no file, or its file is not an image or a video that a network accepts, is an animation of more than 10,000 frames, or takes too much time or memory to inspect.',
    example: {
      error: 'The file is neither an image (JPEG, PNG, GIF, WebP) nor a video (MP4, MOV, WebM).',
    },
  },
  external_id_taken: {
    when: 'Another post of the workspace has the `external_id`; the message names it.',
    example: {
      error:
        '/external_id belongs to post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d: edit that post, or send another external_id.',
      ...at(
        '/external_id',
        'belongs to post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d: edit that post, or send another external_id',
      ),
    },
  },
  post_not_editable: {
    when: 'The post is being published or has ended; only a draft or a scheduled post can be changed.',
    example: {
      error:
        'The post is failed; only a draft or a scheduled post can be changed. POST /posts/0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d/copy with {"only": "failed"} makes a draft for the channels that failed; the others have the post.',
    },
  },
  post_being_sent: {
    when: 'A request to a network is under way, or its outcome is not known yet, so the post cannot be deleted now.',
    example: {
      error:
        'The post is being sent on mastodon channel @ana@social.example (0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31). Delete it when that has ended; POST /posts/0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d/cancel stops the other channels.',
    },
  },
  post_deleted: {
    when: 'This idempotency key created a post that was deleted within the last 24 hours.',
    example: {
      error:
        'This idempotency key made post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d, which was deleted. Use a new key for a new post.',
    },
  },
  nothing_to_copy: {
    when: '`only` is `failed` and no channel failed; or all channels to copy were disconnected; or no text or file of them is left; or the network no longer accepts an option.',
    example: { error: 'No channel of this post has failed. Omit `only` to copy all channels.' },
  },
  post_not_cancellable: {
    when: 'The post is a draft or has ended, so there is nothing to stop.',
    example: { error: 'The post is published; there is nothing left to stop.' },
  },
  nothing_to_retry: {
    when: 'The post has not ended, no channel of it failed, or a file of it was deleted.',
    example: { error: 'No channel of this post has failed.' },
  },
  media_in_use: {
    when: 'A scheduled post uses the file, or the defaults of a channel name it. For a key with `channel_ids`: a scheduled post on other channels has it, or, when it is deleted, any post that the key may not change.',
    example: {
      error: 'Post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d, which is scheduled, uses this file.',
    },
  },
  nothing_to_settle: {
    when: 'The channel is not unconfirmed, and was not settled within the last day; or it was sent again or unpublished since; or the URL belongs to another post.',
    example: { error: 'The channel is published; only an unconfirmed one can be settled.' },
  },
  settle_too_early: {
    when: '`url` is null, and the network received the request a moment ago and may still be processing it. Try again after `Retry-After`.',
    example: {
      error:
        'The network received the request a moment ago and may still be processing it. Try again after 2027-03-01T09:01:00.000Z.',
    },
  },
  nothing_to_unpublish: {
    when: 'Nothing of the post is live on the channels; or publishing has not ended on one of them; or one is unconfirmed.',
    example: {
      error:
        'The post was published on no channel, so there is nothing to remove. DELETE /posts/0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d deletes it here.',
    },
  },
  invalid_request: {
    when: 'Broken JSON, an unknown field or query parameter, or a value of the wrong type; `details` names each.',
    example: {
      error: 'The request body does not fit: Unknown field `bdy`. Did you mean `body`?',
      ...at('/bdy', 'Unknown field `bdy`. Did you mean `body`?'),
    },
  },
  idempotency_key_reused: {
    when: 'The idempotency key was used before: by another call, with a different request, or by another API key.',
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
    when: 'The workspace has 50 API keys already, or within 24 hours the calling key made 100 or all keys 1,000.',
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
    when: 'An attempt of the delivery is under way or due now.',
    example: {
      error:
        'An attempt of this delivery is under way or due now. Read the delivery again for its result.',
    },
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
    when: 'There were too many calls in a minute with this API key (`requests`, `writes`), with all keys of its workspace (`workspace-requests`, `workspace-writes`: ten times as many), or with wrong keys from your address (`wrong-keys`); or too many are under way at the same time with this API key, or with bodies of over 64 kB in its workspace. Try again after `Retry-After` seconds.',
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
