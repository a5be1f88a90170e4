import { createGrowingBuffer } from '../../runtime/growing-buffer.ts';
import type { Downloader } from '../../runtime/egress/egress.ts';
import { decodePage } from './decode-page.ts';

/** A page that a text links to, as far as it was read. */
export type FetchedPage = {
  readonly html: string;
  /** Its URL after redirects. */
  readonly url: string;
};

/** A page's metadata are in its head. */
const maxRead = 512 * 1024;
/** Larger pages are refused unread. */
const maxBytes = 20 * 1024 * 1024;

export const fetching = { stallMs: 5000, timeoutMs: 10_000, maxRedirects: 5 };
export const userAgent = 'Punctual/1.0 (link card)';

export const compressed = 'came compressed, which was not asked for';

/** Why there is no card, as what the page or its server did: `answered 404`. */
export class NoPageError extends Error {
  override readonly name = 'NoPageError';
}

/** @throws NoPageError; the errors of the download. */
export async function readPage(
  downloads: Downloader,
  url: string,
  signal: AbortSignal,
): Promise<FetchedPage> {
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

  const page = createGrowingBuffer();
  // Leaving the loop destroys the stream.
  for await (const chunk of found.body as AsyncIterable<Buffer>) {
    page.append(chunk);
    if (page.length >= maxRead || page.isFragmented) {
      break;
    }
  }

  const html = decodePage(page.bytes().subarray(0, maxRead), type);
  // Without a content type, a page is recognised by its beginning.
  if (type === '' && !/^\s*</v.test(html)) {
    throw new NoPageError('is not a web page');
  }
  return { html, url: found.url };
}
