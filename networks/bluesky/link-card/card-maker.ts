import { AppBskyRichtextFacet, type Facet } from '@atproto/api';
import type { Json } from '../../../domain/json-schema.ts';
import { BodyTooLargeError, type Downloader } from '../../../runtime/egress/egress.ts';
import { EgressError } from '../../../runtime/egress/egress-error.ts';
import { shrinkImage } from '../../../runtime/media/shrink-image.ts';
import { quote } from '../../answer.ts';
import type { Connection } from '../../network.ts';
import { blobOfBytes } from '../files/blob-of.ts';
import { holdBytes } from '../files/held-bytes.ts';
import type { Blob } from '../prepared-post.ts';
import { pageFacts } from './page-facts.ts';
import { fetching, NoPageError, readPage, userAgent, type Page } from './read-page.ts';

/** A card for a post, or why it has none. */
export type LinkCard = {
  /** The part of the record that shows it; null when there is none. */
  readonly embed: Json;
  readonly thumb?: Blob;
  readonly warnings: readonly string[];
};

export const noCard: LinkCard = { embed: null, warnings: [] };

/** Of all cards of a thread, in milliseconds: a try has four minutes. */
const allWithinMs = 45_000;
/** Source: lexicon `app.bsky.embed.external`. */
const maxThumbBytes = 1_000_000;
const maxThumbSide = 1200;
/** Of a picture as a page has it. */
const maxPictureBytes = 15 * 1024 * 1024;

/**
 * Makes cards of the links in posts, each link once. Whatever fails leaves out the card or its picture, and is a warning:
 * no post waits for the page that it links to.
 */
export function cardMaker(connection: Connection): (facets: readonly Facet[]) => Promise<LinkCard> {
  const { downloads } = connection;
  const made = new Map<string, Promise<LinkCard>>();
  const late = AbortSignal.timeout(allWithinMs);
  return async (facets) => {
    const link = firstLink(facets);
    if (link === undefined || !downloads) {
      return noCard;
    }

    const signal = AbortSignal.any([connection.signal, late]);
    const card = made.get(link) ?? makeCard(connection, downloads, link, signal);
    made.set(link, card);
    return card;
  };
}

function firstLink(facets: readonly Facet[]): string | undefined {
  return facets
    .toSorted((a, b) => a.index.byteStart - b.index.byteStart)
    .flatMap(({ features }) => features)
    .filter((feature) => AppBskyRichtextFacet.isLink(feature))
    .map(({ uri }) => uri)
    .find((uri) => /^https?:/iv.test(uri));
}

async function makeCard(
  connection: Connection,
  downloads: Downloader,
  link: string,
  signal: AbortSignal,
): Promise<LinkCard> {
  let page: Page;
  try {
    page = await readPage(downloads, link, signal);
  } catch (error) {
    return {
      embed: null,
      warnings: [`There is no card for ${quote(link, [])}: it ${why(error)}.`],
    };
  }

  const { title, description, image } = pageFacts(page.html);
  const external = { uri: link, title: title || new URL(link).host, description };
  const picture = await pictureOf(downloads, image, page, signal);
  if (picture === null || 'problem' in picture) {
    const warnings = picture
      ? [`The card for ${quote(link, [])} has no picture: it ${picture.problem}.`]
      : [];
    return { embed: { $type, external }, warnings };
  }

  const thumb = blobOfBytes(picture.bytes, picture.type);
  if (!holdBytes(connection, thumb.ref.$link, { bytes: picture.bytes, canBeMadeAgain: false })) {
    const warning = `The card for ${quote(link, [])} has no picture: the cards of one thread have no room for more.`;
    return { embed: { $type, external }, warnings: [warning] };
  }

  return { embed: { $type, external: { ...external, thumb } }, thumb, warnings: [] };
}

const $type = 'app.bsky.embed.external';

type Picture =
  | { readonly bytes: Buffer; readonly type: string }
  | { readonly problem: string }
  /** The page has none. */
  | null;

/** Encoded anew, whatever it is: so it is small, and what readers get is no stranger's bytes. */
async function pictureOf(
  downloads: Downloader,
  address: string,
  page: Page,
  signal: AbortSignal,
): Promise<Picture> {
  const url = address === '' ? null : URL.parse(address, page.url);
  if (!url || !/^https?:$/v.test(url.protocol)) {
    return null;
  }

  try {
    const headers = { 'user-agent': userAgent, accept: 'image/*' };
    const request = { url: url.href, headers, maxBytes: maxPictureBytes, ...fetching, signal };
    const found = await downloads.download(request);
    if (found.status !== 200) {
      found.body.destroy();
      return { problem: `answered ${found.status}` };
    }

    const bounds = { maxBytes: maxThumbBytes, maxSide: maxThumbSide };
    return (await shrinkImage(found.body, bounds, signal)) ?? { problem: 'cannot be read as one' };
  } catch (error) {
    return { problem: why(error) };
  }
}

/** What a page or a picture did, to follow "it". */
function why(error: unknown): string {
  if (error instanceof NoPageError) {
    return error.message;
  }
  if (error instanceof BodyTooLargeError) {
    return 'is too large';
  }

  return error instanceof EgressError && error.code === 'blocked_destination'
    ? 'is at an address that this service may not reach'
    : 'could not be fetched in time';
}
