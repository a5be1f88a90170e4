import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createFairQueue } from '../../runtime/concurrency.ts';
import { BodyTooLargeError, EgressError, type Downloader } from '../../runtime/egress/egress.ts';
import { shrinkImage } from '../../runtime/media/shrink-image.ts';
import { quote } from '../answer.ts';
import type { Connection } from '../network.ts';
import {
  compressed,
  fetching,
  NoPageError,
  pageFacts,
  readPage,
  userAgent,
  type FetchedPage,
  type PageFacts,
} from './page.ts';

type LinkCard = {
  readonly url: string;
  readonly title: string;
  /** Empty when the page has none. */
  readonly description: string;
  readonly picture: CardPicture | null;
};

export type CardPicture = { readonly bytes: Buffer; readonly type: 'image/jpeg' | 'image/webp' };

type MadeCard = { readonly card: LinkCard | null; readonly warnings: readonly string[] };

type CardMaker = (link: string | undefined) => Promise<MadeCard>;

const noCard: MadeCard = { card: null, warnings: [] };

/** Limit for all cards of a thread, in milliseconds; an attempt has four minutes. */
const allWithinMs = 45_000;
const maxPictureBytes = 15 * 1024 * 1024;
/** The pictures in memory. They are fetched before they wait for a processor, so that a slow site delays no photo. */
const enter = createFairQueue({ all: 8, each: 1 });

type PictureBounds = {
  readonly maxBytes: number;
  readonly maxSide: number;
  readonly isOpaque?: boolean;
  readonly workspaceId?: string | undefined;
};

/**
 * Makes cards of links, each link once. A failure costs the card or its picture and gives a warning, so that no post
 * waits for the page that it links to.
 */
export function cardMaker(connection: Connection, wanted: PictureBounds): CardMaker {
  const { downloads, workspaceId } = connection;
  const bounds = { ...wanted, workspaceId };
  const made = new Map<string, Promise<MadeCard>>();
  const late = AbortSignal.timeout(allWithinMs);
  return async (link) => {
    if (link === undefined || !downloads) {
      return noCard;
    }

    const signal = AbortSignal.any([connection.signal, late]);
    const card = made.get(link) ?? makeCard(downloads, link, bounds, signal);
    made.set(link, card);
    return card;
  };
}

async function makeCard(
  downloads: Downloader,
  link: string,
  bounds: PictureBounds,
  signal: AbortSignal,
): Promise<MadeCard> {
  const reader = { ...bounds, signal };
  let page: FetchedPage;
  let facts: PageFacts;
  try {
    page = await readPage(downloads, link, reader);
    facts = await pageFacts(page.html, reader);
  } catch (error) {
    return { card: null, warnings: [`There is no card for ${quote(link, [])}: it ${why(error)}.`] };
  }

  const { title, description, image } = facts;
  const address = image === '' ? null : URL.parse(image, page.url);
  const found = address && (await pictureOf(downloads, address, bounds, signal));
  const picture = found && 'bytes' in found ? found : null;
  const warnings = [
    ...(page.isCut && title === ''
      ? [`The card for ${quote(link, [])} has no title: none is in the first 2 MB of the page.`]
      : []),
    ...(found && 'problem' in found
      ? [`The card for ${quote(link, [])} has no picture: it ${found.problem}.`]
      : []),
  ];
  const card = { url: link, title: title || new URL(link).host, description, picture };
  return { card, warnings };
}

type Picture = CardPicture | { readonly problem: string } | null;

/** Pictures are always re-encoded: they get small, and readers never get the original bytes, which may be harmful. */
async function pictureOf(
  downloads: Downloader,
  { href: url, protocol }: URL,
  bounds: PictureBounds,
  signal: AbortSignal,
): Promise<Picture> {
  if (!/^https?:$/v.test(protocol)) {
    return null;
  }

  let leave: (() => void) | undefined;
  try {
    leave = await enter(bounds.workspaceId ?? '', signal);
    const headers = { 'user-agent': userAgent, accept: 'image/*, */*;q=0.1' };
    const request = { url, headers, maxBytes: maxPictureBytes, ...fetching, signal };
    const found = await downloads.download(request);
    if (found.status !== 200) {
      found.body.destroy();
      return { problem: `answered ${found.status}` };
    }

    const isPacked = (found.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
    const problem = isPacked ? compressed : 'cannot be read as one of up to 30 million pixels';
    const bytes = await buffer(found.body);
    return (await shrinkImage(Readable.from([bytes]), bounds, signal)) ?? { problem };
  } catch (error) {
    return { problem: why(error) };
  } finally {
    leave?.();
  }
}

/** The problem with a page or a picture, as words that follow "it". */
function why(error: unknown): string {
  if (error instanceof NoPageError) {
    return error.message;
  }
  if (error instanceof BodyTooLargeError) {
    return 'is too large';
  }

  return error instanceof EgressError
    ? `could not be fetched: ${error.message.replace(/\.$/v, '')}`
    : 'could not be fetched in time';
}
