import { having, listOf, nullable, text, type Json, type Value } from '../../domain/json-schema.ts';
import { answerReader, quote } from '../answer.ts';
import { cardMaker, type CardPicture } from '../link-card/card-maker.ts';
import { NetworkError, type Connection, type ThreadPart, type PreparedPart } from '../network.ts';
import { contentOfBytes } from '../uploads/file-bytes.ts';
import type { LinkedinAccess } from './client.ts';
import { preparedOf } from './posts.ts';
import { chosenIn } from './rules.ts';
import { untilAvailable } from './media-status.ts';
import { bringImage } from './uploads.ts';

const cardSchema = having({
  /** Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api */
  article: nullable(having({ source: text, title: text }, { description: text, thumbnail: text })),
  warnings: listOf(text),
});
export type LinkCard = Value<typeof cardSchema>;

/** LinkedIn accepts JPEG, PNG and GIF. */
const pictureBounds = { maxBytes: 1_000_000, maxSide: 1200, isOpaque: true };

/** A thumbnail that is not processed within this time is left out. */
const patienceMs = 15_000;

const readCard = answerReader(cardSchema);

export const keptCard = (connection: Connection, part: ThreadPart): LinkCard | null =>
  part.media.length > 0 ? null : readCard(connection.uploadsOf(part));

/**
 * Makes the card of a post's first link once, because LinkedIn does not make cards itself. Every attempt sends the
 * stored card, so that LinkedIn recognises a repeated post as a duplicate.
 */
export async function keepCard(
  access: LinkedinAccess,
  connection: Connection,
  part: PreparedPart,
): Promise<void> {
  const isWanted = part.media.length === 0 && chosenIn(part.options).link_card !== false;
  const link = isWanted ? firstLink(part.text) : undefined;
  // A post that may exist without a card must be repeated without one.
  const isDoubted = preparedOf(part.data).isDoubted === true;
  if (link === undefined || !connection.downloads || isDoubted || keptCard(connection, part)) {
    return;
  }

  const { card, warnings } = await cardMaker(connection, pictureBounds)(link);
  const thumbnail = card?.picture && (await thumbnailOf(access, connection, card.picture, link));
  const article = card && {
    source: card.url,
    title: card.title,
    ...(card.description !== '' && { description: card.description }),
    ...(thumbnail && 'urn' in thumbnail && { thumbnail: thumbnail.urn }),
  };
  const problems = thumbnail && 'warning' in thumbnail ? [thumbnail.warning] : [];
  if (!connection.signal.aborted) {
    const kept: Json = { article, warnings: [...warnings, ...problems] };
    await connection.saveUploads(part, kept);
  }
}

type Thumbnail = { readonly urn: string } | { readonly warning: string };

async function thumbnailOf(
  access: LinkedinAccess,
  { remoteId, signal }: Connection,
  { bytes, type }: CardPicture,
  link: string,
): Promise<Thumbnail> {
  const name = 'picture of the link card';
  try {
    const picture = { ...contentOfBytes(bytes, type), fileName: name };
    const urn = await bringImage(access, remoteId, picture);
    await untilAvailable(access, { resource: 'images', urn, fileName: name }, { patienceMs });
    return { urn };
  } catch (error) {
    const isOfPost = error instanceof NetworkError && error.code === 'access_lost';
    if (!(error instanceof NetworkError) || isOfPost || signal.aborted) {
      throw error;
    }
    return { warning: `The card for ${quote(link, [])} has no picture. ${error.message}` };
  }
}

/** A link ends at a character that URLs do not contain unescaped, and at Chinese and Japanese punctuation. */
const links = /\bhttps?:\/\/[^\s<>"“”«»、。，！？；：（）「」『』【】《》]+/giv;

/**
 * The first link of a text that begins with a protocol; undefined when there is none. Trailing punctuation does not
 * belong to it, nor a closing bracket that was opened before it.
 */
export function firstLink(postText: string): string | undefined {
  for (const [found] of postText.matchAll(links)) {
    const link = beforeOpenBracket(found).replace(/[.,;:!?'’…*_~\]\}]{1,20}$/v, '');
    if (URL.canParse(link)) {
      return link;
    }
  }

  return undefined;
}

function beforeOpenBracket(link: string): string {
  let depth = 0;
  for (const { 0: bracket, index } of link.matchAll(/[\(\)]/gv)) {
    depth += bracket === '(' ? 1 : -1;
    if (depth < 0) {
      return link.slice(0, index);
    }
  }

  return link;
}
