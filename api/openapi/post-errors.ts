import type { ErrorCode } from '../../domain/errors.ts';
import { at, type DescribedError } from './described-error.ts';

/** Description and example of each error code about a post or its files. */
export const postErrors = {
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
      error: 'scheduled_at is more than two years ahead.',
      ...at('/scheduled_at', 'is more than two years ahead'),
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
        'The post is published; only a draft or a scheduled post can be changed. POST /posts/0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d/copy makes a draft of it.',
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
    when: 'A scheduled post uses the file, or the defaults of a channel name it.',
    example: {
      error: 'Post 0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d, which is scheduled, uses this file.',
    },
  },
  nothing_to_settle: {
    when: 'The channel is not unconfirmed; or the network received the request a moment ago and may still be processing it; or the URL belongs to another post.',
    example: { error: 'The channel is published; only an unconfirmed one can be settled.' },
  },
  nothing_to_unpublish: {
    when: 'Nothing of the post is live on the channels; or publishing has not ended on one of them; or one is unconfirmed.',
    example: {
      error:
        'The post was published on no channel, so there is nothing to remove. DELETE /posts/0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d deletes it here.',
    },
  },
} satisfies Partial<Record<ErrorCode, DescribedError>>;
