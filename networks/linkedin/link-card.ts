import { Readable } from 'node:stream';
import type { Json } from '../../domain/json-schema.ts';
import { answerReader, quote } from '../answer.ts';
import { cardMaker, type CardPicture } from '../link-card/card-maker.ts';
import { NetworkError, type Connection, type Part, type PreparedPart } from '../network.ts';
import type { Access } from './client.ts';
import { firstLink } from './first-link.ts';
import { choiceOf } from './options.ts';
import { preparedOf } from './prepared.ts';
import { untilAvailable } from './uploads/media-status.ts';
import { bringImage } from './uploads/upload-image.ts';

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api */
type Article = {
  readonly source: string;
  readonly title: string;
  readonly description?: string;
  /** The URN of an image. */
  readonly thumbnail?: string;
};

/** The card of a post, or why it has none. */
export type LinkCard = { readonly article: Article | null; readonly warnings: readonly string[] };

/** LinkedIn takes JPEG, PNG and GIF. */
const pictureBounds = { maxBytes: 1_000_000, maxSide: 1200, isOpaque: true };

/** A thumbnail that is not ready by then is left out. */
const processingTimeoutMs = 15_000;

/** Sealed by us and nobody else. */
const readCard = answerReader<LinkCard>({
  type: 'object',
  required: ['article', 'warnings'],
  properties: {
    article: {
      type: 'object',
      nullable: true,
      required: ['source', 'title'],
      properties: { source: { type: 'string' }, title: { type: 'string' } },
    },
    warnings: { type: 'array', items: { type: 'string' } },
  },
});

/** The card that `keepCard` kept for a post; null when it kept none. */
export const keptCard = (connection: Connection, part: Part): LinkCard | null =>
  part.media.length > 0 ? null : readCard(connection.uploadsOf(part));

/**
 * Makes the card of a post's first link, once: LinkedIn makes none by itself. Every try sends the kept card, so that a
 * post whose answer was lost is sent again as it was, and LinkedIn knows it for a duplicate.
 *
 * @throws NetworkError where the post itself could not go out either: a failure of the card alone gives a warning.
 */
export async function keepCard(
  access: Access,
  connection: Connection,
  part: PreparedPart,
): Promise<void> {
  const isWanted = part.media.length === 0 && choiceOf(part.options).hasLinkCard;
  const link = isWanted ? firstLink(part.text) : undefined;
  // A post that may be there without a card is sent again without one.
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
  access: Access,
  { remoteId, signal }: Connection,
  { bytes }: CardPicture,
  link: string,
): Promise<Thumbnail> {
  const name = 'picture of the link card';
  try {
    const body = { stream: Readable.from([bytes]), sizeBytes: bytes.length };
    const urn = await bringImage(access, remoteId, body, name);
    await untilAvailable(access, 'images', urn, { name }, processingTimeoutMs);
    return { urn };
  } catch (error) {
    const isOfPost = error instanceof NetworkError && error.code === 'access_lost';
    if (!(error instanceof NetworkError) || isOfPost || signal.aborted) {
      throw error;
    }
    return { warning: `The card for ${quote(link, [])} has no picture. ${error.message}` };
  }
}
