import { existsSync } from 'node:fs';
import type { CallOptions, NewPost, Post, Punctual } from '../../../sdk/src/index.ts';
import { command, type Answer, type Session, type Values } from '../../command.ts';
import { UsageError } from '../../failures.ts';
import { given, idempotencyKey as keyFlag, text, texts, toggle } from '../../flags.ts';
import { readInput } from '../../input.ts';
import { localTime, tableText } from '../../table.ts';
import { parseJson } from '../api.ts';
import { chosenChannels, isId } from '../channels.ts';
import { uploadFile } from '../media.ts';
import { postText, zonedTime } from './view.ts';
import { parseWhen, whenForms } from './when.ts';

type Validation = Awaited<ReturnType<Punctual['posts']['validate']>>;

/** Flags for what a post is, of a new one and of an edit. */
const contentFlags = {
  body: text('The text; - reads it from standard input'),
  thread: texts('A part of a thread, in order, instead of --body'),
  channel: texts('Account: its id, handle or network', 'CHANNEL'),
  at: text(`When it goes out: ${whenForms}`, 'TIME'),
  timezone: text(
    'Time zone of --at, such as Europe/Berlin; unless given, that of an edited post, or yours',
    'ZONE',
  ),
  media: texts('A picture or video: its file, its id or a URL', 'FILE'),
  alt: texts('Alt text of a picture, in the order of --media'),
  options: text(
    `Options by account or network, as JSON; "punctual api GET /networks" lists them`,
    'JSON',
  ),
  tag: texts('A label of your own', 'TAG'),
  externalId: text('An id of your own, unique in the workspace', 'ID'),
};

export const create = command({
  brief: 'Schedules a post, or stores a draft',
  description:
    'Schedules a post. Without --at it is stored as a draft. A call that is repeated after a lost answer makes one post; give --external-id if your own program may run twice, or --idempotency-key with a fixed time.',
  examples: [
    'post create --body "Hello" --channel mastodon --at "tomorrow 9:00" --timezone Europe/Berlin',
    'post create --body - --channel mastodon --channel bluesky --at now --wait < text.txt',
    'post create --body "Look" --media cat.jpg --alt "A cat on a roof" --channel mastodon',
    'post create --thread "One" --thread "Two" --channel bluesky --dry-run',
  ],
  flags: {
    ...contentFlags,
    dryRun: toggle('Checks the post against the rules of its networks, and stores nothing'),
    wait: toggle('Waits until the post has ended; fails unless it is published everywhere'),
    idempotencyKey: keyFlag('The same key with the same post makes one post'),
  },
  run: async (session, { dryRun, wait, idempotencyKey, ...content }) => {
    if (wait && (dryRun || content.at === undefined)) {
      throw new UsageError('--wait needs a post with a time: give --at, and no --dry-run.');
    }

    const client = await session.client();
    const options = given({ idempotencyKey });
    const body = await contentOf(client, content, dryRun ? null : options);
    if (dryRun) {
      return validationAnswer(await client.posts.validate(body), content.timezone);
    }

    const answer = await client.posts.create(body, options);
    return wait
      ? waitForEnd(session, client, answer.post)
      : { data: answer, text: postText(answer.post) };
  },
});

const validationAnswer = (answer: Validation, timezone: string | undefined): Answer => ({
  data: answer,
  failed: !answer.valid,
  text: [
    answer.valid ? 'The post is valid.' : 'The post is not valid.',
    answer.scheduled_at === null
      ? 'Without --at it would be a draft.'
      : `It would be due at ${zonedTime(answer.scheduled_at, timezone)}.`,
    ...answer.warnings.map(({ message }) => `Warning: ${message}`),
    tableText({
      head: ['NETWORK', 'HANDLE', 'LENGTH', 'RESULT'],
      rows: answer.channels.map((one) => [
        one.platform,
        one.handle,
        one.length === null ? '' : `${one.length} of ${one.limit ?? '?'}`,
        [...one.errors, ...one.warnings].map(({ message }) => message).join(' ') || 'ok',
      ]),
    }),
  ].join('\n'),
});

export const edit = command({
  brief: 'Changes a draft or scheduled post',
  description:
    'Changes a draft or scheduled post. What is not given stays; --options replaces those of all channels. --body replaces a thread, and --thread a text. A local --at without --timezone is in the time zone of the post, or in yours if it has none.',
  examples: ['post edit POST --at "friday 18:00"', 'post edit POST --body "Another text"'],
  args: { post: 'Id of the post' },
  flags: contentFlags,
  run: async (session, { post: id, ...content }) => {
    if (Object.values(content).every((value) => value === undefined)) {
      throw new UsageError('There is nothing to change. Give a flag such as --at or --body.');
    }

    const client = await session.client();
    const { body, thread, at } = content;
    const stays = at !== undefined && content.timezone === undefined;
    const zone = stays ? (await client.posts.get(id)).post.timezone : null;
    const timezone = zone ?? content.timezone;
    const fields = await contentOf(client, { ...content, timezone }, {});
    const replaced = {
      ...(body === undefined ? {} : { thread: null }),
      ...(thread === undefined ? {} : { body: null }),
    };
    const answer = await client.posts.edit(id, { ...fields, ...replaced });
    return { data: answer, text: postText(answer.post) };
  },
});

/** Waits for the end of a post, and prints its progress. */
export async function waitForEnd(
  { say }: Session,
  client: Punctual,
  { id }: Post,
): Promise<Answer> {
  say(`Post ${id}. Ctrl-C ends the waiting; the post stays as it is.`);
  let told = '';
  const tell = ({ status, scheduled_at: due, summary, channels }: Post) => {
    const line =
      status === 'scheduled'
        ? `Waiting until ${localTime(due)} ...`
        : `${status}: ${summary.published} of ${channels.length} channels published, ${summary.failed} failed`;
    if (line !== told) {
      say(line);
    }

    told = line;
  };
  const post = await client.posts.waitFor(id, { onPost: tell });
  return { data: { post }, text: postText(post), failed: post.outcome !== 'published' };
}

type Content = Values<typeof contentFlags>;

/** The fields of the API for these flags. @param uploads Null for a dry run, which must not store anything. */
async function contentOf(client: Punctual, content: Content, uploads: CallOptions | null) {
  const { body, thread, channel, at, timezone, media, alt, options, tag, externalId } = content;
  if (at === undefined && timezone !== undefined) {
    throw new UsageError('--timezone is the zone of --at, which is missing.');
  }

  if (body !== undefined && thread !== undefined) {
    throw new UsageError('--thread is instead of --body: give the text as the first --thread.');
  }

  if ((alt?.length ?? 0) > (media?.length ?? 0)) {
    throw new UsageError('There are more --alt than --media.');
  }

  const ids = channel && (await chosenChannels(client, channel));
  const when = at === undefined ? {} : parseWhen(at, timezone, new Date());
  return {
    ...given({
      body: body === '-' ? (await readInput()).trimEnd() : body,
      thread,
      channel_ids: ids,
      media: media && (await mediaOf(client, media, alt ?? [], uploads)),
      channel_options: options === undefined ? undefined : await optionsOf(client, options, ids),
      tags: tag,
      external_id: externalId,
    }),
    ...when,
  };
}

/** By the ids of the accounts, which are named as in --channel. @param among Ids of the post's accounts, if given. */
async function optionsOf(
  client: Punctual,
  json: string,
  among?: readonly string[],
): Promise<NewPost['channel_options']> {
  const named = Object(parseJson('--options', json)) as NonNullable<NewPost['channel_options']>;
  const ids = await chosenChannels(client, Object.keys(named), '--options', among);
  return Object.fromEntries(Object.values(named).map((options, at) => [ids[at], options]));
}

async function mediaOf(
  client: Punctual,
  media: readonly string[],
  alts: readonly string[],
  uploads: CallOptions | null,
) {
  const key = uploads?.idempotencyKey;
  const items: { media_id?: string; url?: string; alt_text?: string }[] = [];
  for (const [index, one] of media.entries()) {
    const alt = alts[index];
    const item = given({ alt_text: alt });
    if (/^https?:\/\//v.test(one)) {
      items.push({ url: one, ...item });
    } else if (isId(one)) {
      items.push({ media_id: one, ...item });
    } else if (!existsSync(one)) {
      throw new UsageError(`There is no file ${one} here, and it is not the id of one.`);
    } else if (uploads) {
      // A key of each file's own, so that a repeated command finds the same files.
      const own = given({ idempotencyKey: key && `${key}/media/${index}` });
      items.push({ media_id: (await uploadFile(client, one, {}, own)).media.id, ...item });
    } else {
      throw new UsageError(
        `--dry-run stores nothing. Upload ${one} by "punctual media upload", and give its id.`,
      );
    }
  }

  return items;
}
