import { getEncoding } from 'encoding-sniffer';
import { wholeCharacters } from '../../domain/texts.ts';
import { createGrowingBuffer } from '../../runtime/bytes.ts';
import type { Downloader } from '../../runtime/egress/egress.ts';
import type { Reader } from '../in-turn.ts';
import { htmlReader, readHtml } from '../read-html.ts';

export type FetchedPage = {
  readonly html: string;
  readonly url: string;
  /** Whether its head is longer than the part that was read. */
  readonly isCut: boolean;
};

/** A page's metadata are in its head. Some pages have theirs in the body, so this much is read in any case. */
const leastRead = 512 * 1024;
/** The most of a head that is read. Video sites put 700 kB of scripts before their metadata. */
const maxRead = 2 * 1024 * 1024;
/** Larger pages are refused unread. */
const maxBytes = 20 * 1024 * 1024;

export const fetching = { stallMs: 5000, timeoutMs: 10_000, maxRedirects: 5 };
export const userAgent = 'Punctual/1.0 (link card)';

export const compressed = 'came compressed, which was not asked for';

/** Why there is no card, such as `answered 404`. */
export class NoPageError extends Error {
  override readonly name = 'NoPageError';
}

/** @throws NoPageError; the errors of the download. */
export async function readPage(
  downloads: Downloader,
  url: string,
  reader: Reader,
): Promise<FetchedPage> {
  const { signal } = reader;
  const headers = { 'user-agent': userAgent, accept: 'text/html, application/xhtml+xml' };
  const found = await downloads.download({ url, headers, maxBytes, ...fetching, signal });
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = found.headers;
  const problem =
    found.status !== 200
      ? `answered ${found.status}`
      : type !== '' && !/^(?:text\/html|application\/xhtml\+xml)\b/iv.test(type)
        ? 'is not a web page'
        : encoding.toLowerCase() !== 'identity'
          ? compressed
          : null;
  if (problem !== null) {
    found.body.destroy();
    throw new NoPageError(problem);
  }

  const { bytes, isCut } = await readHead(found.body as AsyncIterable<Buffer>, reader);
  const html = decodePage(bytes, type);
  // Without a content type, a page is recognised by its beginning.
  if (type === '' && !/^\s*</v.test(html)) {
    throw new NoPageError('is not a web page');
  }
  return { html, url: found.url, isCut };
}

/** Reads a page to the end of its head. Tags are ASCII, so this does not need the charset. */
async function readHead(chunks: AsyncIterable<Buffer>, reader: Reader) {
  const page = createGrowingBuffer();
  let isInHead = true;
  const handlers = {
    onopentag: (name: string) => {
      isInHead &&= name !== 'body';
    },
    onclosetag: (name: string) => {
      isInHead &&= name !== 'head';
    },
  };
  const { write } = htmlReader(handlers, reader);
  let isCut = false;
  // Leaving the loop destroys the stream.
  for await (const chunk of chunks) {
    const piece = chunk.subarray(0, maxRead - page.length);
    page.append(piece);
    await write(piece.toString('latin1'));
    if (page.length >= (isInHead ? maxRead : leastRead)) {
      isCut = isInHead;
      break;
    }
  }

  return { bytes: page.bytes(), isCut };
}

/** In bytes: where a declaration of the charset is looked for. Browsers read 1024; some pages have it after scripts. */
const declaredWithin = 64 * 1024;

/** Decodes a page by its byte order mark, `Content-Type` or declaration, else as UTF-8. */
export function decodePage(bytes: Buffer, contentType: string): string {
  const label = /charset\s*=\s*["']?(?<name>[\w.:\-]{1,40})/iv.exec(contentType)?.groups?.['name'];
  const encoding = getEncoding(bytes, {
    maxBytes: declaredWithin,
    ...(label !== undefined && { transportLayerEncodingLabel: label }),
    defaultEncoding: 'utf-8',
  });
  return decoderOf(encoding).decode(bytes);
}

/** Node has no decoder for some charsets that nobody uses. */
function decoderOf(encoding: string) {
  try {
    return new TextDecoder(encoding);
  } catch {
    return new TextDecoder();
  }
}

/** A page's metadata for previews. Empty strings where the page has none. */
export type PageFacts = {
  readonly title: string;
  readonly description: string;
  /** The URL of a picture, as written in the page. */
  readonly image: string;
};

const maxTitle = 300;
const maxDescription = 600;
const maxAddress = 2000;
/** In UTF-16 units. Only the beginning of a text is cleaned, since a text may fill the page. */
const maxCleaned = 10_000;

/** In order of precedence. Sources: https://ogp.me, https://html.spec.whatwg.org (`meta`). */
const names = {
  title: ['og:title', 'twitter:title'],
  description: ['og:description', 'twitter:description', 'description'],
  image: ['og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src'],
} as const;

const metaNames: ReadonlySet<string> = new Set(Object.values(names).flat());

/**
 * Reads the beginning of a page, in time linear to its length. The page is untrusted, so its metadata become plain
 * text, bounded and on one line.
 */
export async function pageFacts(html: string, reader: Reader): Promise<PageFacts> {
  const metadata = new Map<string, string>();
  let title = '';
  let isTitle = false;
  const handlers: Parameters<typeof readHtml>[1] = {
    onopentag: (name, { property, name: label, content = '' }) => {
      const key = (property ?? label ?? '').toLowerCase();
      if (name === 'meta' && metaNames.has(key) && !metadata.has(key) && content.trim() !== '') {
        metadata.set(key, content.slice(0, maxCleaned));
      }
      // An SVG in the page may have a title as well, so only the first title counts.
      isTitle = name === 'title' && title === '';
    },
    onclosetag: () => {
      isTitle = false;
    },
    ontext: (text) => {
      title += isTitle && title.length < maxTitle * 2 ? text.slice(0, maxCleaned) : '';
    },
  };
  await readHtml(html, handlers, reader);
  const first = (keys: readonly string[]): string =>
    keys.map((key) => metadata.get(key) ?? '').find((value) => value !== '') ?? '';
  return {
    title: clean(first(names.title) || title, maxTitle),
    description: clean(first(names.description), maxDescription),
    image: first(names.image).trim().slice(0, maxAddress),
  };
}

const codePoints = (text: string): number => Array.from(text).length;

/** Puts a text on one line and limits its code points, without splitting a character. */
function clean(text: string, most: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gv, ' ')
    .trim();
  return wholeCharacters(line, most, codePoints) === line
    ? line
    : `${wholeCharacters(line, most - 1, codePoints)}…`;
}
