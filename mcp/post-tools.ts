import { AppError } from '../domain/errors.ts';
import {
  anyFields,
  fields,
  flag,
  having,
  listOf,
  mapOf,
  mayHave,
  oneOf,
  text,
} from '../domain/json-schema.ts';
import { postStatuses } from '../domain/statuses.ts';
import type { Body, NewPost } from '../sdk/src/index.ts';
import { presentPost, presentValidation } from './present.ts';
import {
  adds,
  changes,
  cursor,
  id,
  idempotencyKey,
  mostRows,
  onePost,
  postFields,
  postOutput,
  reads,
  tool,
  type Tool,
} from './tool.ts';

const content = {
  body: text,
  thread: listOf(text),
  channel_ids: listOf(text),
  channel_bodies: mapOf(text),
  channel_options: mapOf(anyFields),
  media: listOf(fields({ media_id: text, url: text, alt_text: text })),
  tags: listOf(text),
  external_id: text,
};

const time = {
  scheduled_at: text,
  timezone: text,
  schedule_in_minutes: { type: 'number' },
} as const;

/** Once, in `create_post`: the list of tools has to be short. */
const explained = {
  ...content,
  thread: { ...content.thread, description: 'Texts of a thread, instead of `body`' },
  channel_ids: { ...content.channel_ids, description: 'From list_channels' },
  channel_bodies: { ...content.channel_bodies, description: 'By channel id: another text there' },
  channel_options: {
    ...content.channel_options,
    description: 'By channel id: see network_rules',
  },
  media: { ...content.media, description: 'Files in order, by `media_id` or https `url`' },
  external_id: { ...text, description: 'Its id in your system' },
  scheduled_at: {
    ...text,
    description: 'RFC 3339 with Z or an offset, or a local time such as 2027-03-01T09:00:00',
  },
  timezone: { ...text, description: 'IANA name, for a local time' },
  schedule_in_minutes: { ...time.schedule_in_minutes, description: '0 publishes now' },
};

const validation = { valid: flag, ...postFields, warnings: listOf(text) };

const writing: readonly Tool[] = [
  tool({
    name: 'validate_post',
    title: 'Check a post',
    description:
      'Checks what create_post takes by the rules of its networks, and stores nothing. `errors` of a channel keep it from being scheduled.',
    annotations: reads,
    input: fields({ ...content, ...time }),
    output: mayHave(validation),
    run: async (client, args, signal) =>
      presentValidation(await client.posts.validate(args as NewPost, { signal }), args.timezone),
  }),
  tool({
    name: 'create_post',
    title: 'Create a post',
    description:
      'Schedules a post, or saves a draft if it has no time. With `dry_run` it only checks, as validate_post.',
    annotations: adds,
    input: fields({ ...explained, idempotency_key: idempotencyKey, dry_run: flag }, [
      'idempotency_key',
    ]),
    output: mayHave({ id: text, status: text, ...validation }),
    run: async (client, { idempotency_key: key, dry_run: isTry, ...args }, signal) => {
      const post = args as NewPost;
      if (isTry) {
        return presentValidation(await client.posts.validate(post, { signal }), args.timezone);
      }

      return presentPost((await client.posts.create(post, { signal, idempotencyKey: key })).post);
    },
  }),
  tool({
    name: 'update_post',
    title: 'Change a post',
    description:
      'Changes a draft or scheduled post, with the fields of create_post. Only those that are sent change, each as a whole; `thread` drops files of later parts (set by REST). For its time, see schedule_post.',
    annotations: changes,
    input: fields({ post_id: id, ...content }, ['post_id']),
    output: postOutput,
    run: async (client, { post_id: postId, ...args }, signal) =>
      presentPost((await client.posts.edit(postId, args as Body<'editPost'>, { signal })).post),
  }),
  tool({
    name: 'schedule_post',
    title: 'Schedule a post',
    description: 'Gives a draft or scheduled post its time, as in create_post.',
    annotations: changes,
    input: fields({ post_id: id, ...time }, ['post_id']),
    output: postOutput,
    run: async (client, { post_id: postId, ...when }, signal) => {
      if (when.scheduled_at === undefined && when.schedule_in_minutes === undefined) {
        throw new AppError('invalid_request', 'Send scheduled_at or schedule_in_minutes.');
      }

      return presentPost((await client.posts.edit(postId, when, { signal })).post);
    },
  }),
  tool({
    name: 'copy_post',
    title: 'Copy a post',
    description: 'Makes a draft with the content of a post.',
    annotations: { ...adds, openWorldHint: false },
    input: fields(
      {
        post_id: id,
        only: { ...oneOf(['failed']), description: 'Only the channels that failed' },
        idempotency_key: idempotencyKey,
      },
      ['post_id', 'idempotency_key'],
    ),
    output: postOutput,
    run: async (client, { post_id: postId, idempotency_key: key, ...only }, signal) =>
      presentPost((await client.posts.copy(postId, only, { signal, idempotencyKey: key })).post),
  }),
];

const deciding: readonly Tool[] = [
  tool({
    name: 'cancel_post',
    title: 'Cancel a post',
    description:
      'Makes a scheduled post a draft. `still_sending` counts channels that finish anyway.',
    annotations: changes,
    input: onePost,
    output: having(
      { id: text, status: text },
      { ...postFields, still_sending: { type: 'integer' } },
    ),
    run: async (client, { post_id: postId }, signal) => {
      const { post, still_sending } = await client.posts.cancel(postId, { signal });
      return { ...presentPost(post), still_sending };
    },
  }),
  tool({
    name: 'retry_post',
    title: 'Retry a post',
    description: 'Sends a post again to the channels that failed, and not to those that have it.',
    annotations: changes,
    input: onePost,
    output: postOutput,
    run: async (client, { post_id: postId }, signal) =>
      presentPost((await client.posts.retry(postId, { signal })).post),
  }),
];

const reading: readonly Tool[] = [
  tool({
    name: 'get_post',
    title: 'Show a post',
    description: 'A post with its outcome on each channel.',
    annotations: reads,
    input: fields(
      { post_id: id, full: { ...flag, description: 'With all of its texts and files' } },
      ['post_id'],
    ),
    output: having(
      { id: text, status: text },
      {
        ...postFields,
        outcome: text,
        timezone: text,
        published_at: text,
        channels: listOf(
          having(
            { id: text, platform: text, handle: text, status: text },
            { url: text, error: text },
          ),
        ),
      },
    ),
    run: async (client, { post_id: postId, full }, signal) =>
      presentPost((await client.posts.get(postId, { signal })).post, full),
  }),
  tool({
    name: 'list_posts',
    title: 'List posts',
    description: `Up to ${mostRows} posts, the newest first. All filters have to hold.`,
    annotations: reads,
    input: fields({
      status: oneOf(postStatuses),
      channel_id: id,
      tag: text,
      q: { ...text, maxLength: 500, description: 'Words of the text' },
      from: { ...text, description: 'RFC 3339; compares `date_field`, or `scheduled_at`' },
      to: text,
      date_field: oneOf(['scheduled_at', 'published_at', 'created_at']),
      order: oneOf(['desc', 'asc']),
      cursor,
    }),
    output: having({ posts: listOf(anyFields) }, { next_cursor: text }),
    run: async (client, { status, ...args }, signal) => {
      const query = {
        ...args,
        ...(status === undefined ? {} : { status: [status] }),
        include: ['channels' as const],
        limit: mostRows,
      };
      const { posts, next_cursor: next } = await client.posts.list(query, { signal });
      return {
        posts: posts.map((post) => presentPost(post)),
        ...(next === null ? {} : { next_cursor: next }),
      };
    },
  }),
];

export const postTools: readonly Tool[] = [...writing, ...deciding, ...reading];
