import { existsSync } from 'node:fs';
import type { CallOptions, NewPost, Punctual } from '../../../sdk/src/index.ts';
import type { Values } from '../../command.ts';
import { UsageError } from '../../failures.ts';
import { given, text, texts } from '../../flags.ts';
import { readInput } from '../../input.ts';
import { parseJson } from '../api.ts';
import { chosenChannels, isId } from '../channels.ts';
import { uploadFile } from '../media.ts';
import { parseWhen, whenForms } from './when.ts';

/** Flags for what a post is, of a new one and of an edit. */
export const contentFlags = {
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

type Content = Values<typeof contentFlags>;

/** The fields of the API for these flags. @param uploads Null for a dry run, which must not store anything. */
export async function contentOf(client: Punctual, content: Content, uploads: CallOptions | null) {
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
