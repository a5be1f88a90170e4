import { AppBskyRichtextFacet, type Facet } from '@atproto/api';
import type { Json } from '../../domain/json-schema.ts';
import { quote } from '../answer.ts';
import { cardMaker } from '../link-card/card-maker.ts';
import type { Connection } from '../network.ts';
import { blobOfBytes } from './files/blob.ts';
import { holdBytes } from './files/held-bytes.ts';
import type { Blob } from './prepared-post.ts';

/** The link card of a post, or why it has none. */
type EmbeddedCard = {
  /** The embed with the card; null when there is none. */
  readonly embed: Json;
  readonly thumb?: Blob;
  readonly warnings: readonly string[];
};

export const noCard: EmbeddedCard = { embed: null, warnings: [] };

/** Source: lexicon `app.bsky.embed.external`. */
const thumbBounds = { maxBytes: 1_000_000, maxSide: 1200 };

/** Makes the link cards of a thread's posts and holds their pictures for the upload. */
export function cardEmbedder(
  connection: Connection,
): (facets: readonly Facet[]) => Promise<EmbeddedCard> {
  const makeCard = cardMaker(connection, thumbBounds);
  return async (facets) => {
    const { card, warnings } = await makeCard(firstLink(facets));
    if (!card) {
      return { embed: null, warnings };
    }

    const { url: uri, title, description, picture } = card;
    const external = { uri, title, description };
    if (!picture) {
      return { embed: { $type, external }, warnings };
    }

    const thumb = blobOfBytes(picture.bytes, picture.type);
    if (!holdBytes(connection, thumb.ref.$link, { bytes: picture.bytes, canBeMadeAgain: false })) {
      const warning = `The card for ${quote(uri, [])} has no picture: the cards of one thread have no room for more.`;
      return { embed: { $type, external }, warnings: [warning] };
    }

    return { embed: { $type, external: { ...external, thumb } }, thumb, warnings };
  };
}

const $type = 'app.bsky.embed.external';

function firstLink(facets: readonly Facet[]): string | undefined {
  return facets
    .toSorted((a, b) => a.index.byteStart - b.index.byteStart)
    .flatMap(({ features }) => features)
    .filter((feature) => AppBskyRichtextFacet.isLink(feature))
    .map(({ uri }) => uri)
    .find((uri) => /^https?:/iv.test(uri));
}
