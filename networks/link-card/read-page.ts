import { createGrowingBuffer } from '../../runtime/growing-buffer.ts';
import type { Downloader } from '../../runtime/egress/egress.ts';

/** A page that a text links to, as far as it was read. */
export type Page = {
  readonly html: string;
  /** Where it was found in the end, after redirects. */
  readonly url: string;
};

/** What is of use stands in a page's head. */
const maxRead = 512 * 1024;
/** A longer one is refused unread. */
const maxBytes = 20 * 1024 * 1024;

export const fetching = { stallMs: 5000, timeoutMs: 10_000, maxRedirects: 5 };
export const userAgent = 'Punctual/1.0 (link card)';

/** Why there is no card, as what the page or its server did: `answered 404`. */
export class NoPageError extends Error {
  override readonly name = 'NoPageError';
}

/** @throws NoPageError; what the download throws. */
export async function readPage(
  downloads: Downloader,
  url: string,
  signal: AbortSignal,
): Promise<Page> {
  const headers = { 'user-agent': userAgent, accept: 'text/html, application/xhtml+xml' };
  const found = await downloads.download({ url, headers, maxBytes, ...fetching, signal });
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = found.headers;
  const problem =
    found.status !== 200
      ? `answered ${found.status}`
      : !/^(?:text\/html|application\/xhtml\+xml)\b/iv.test(type)
        ? 'is no web page'
        : encoding.toLowerCase() !== 'identity'
          ? 'came compressed, which was not asked for'
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

  return { html: decode(page.bytes().subarray(0, maxRead), type), url: found.url };
}

/** By the header, or else by what the page says in its first kilobyte; UTF-8 when neither names a known one. */
function decode(bytes: Buffer, type: string): string {
  const named =
    /charset\s*=\s*["']?(?<name>[\w.:\-]{1,40})/iv.exec(type) ??
    /<meta[^>]{0,200}?charset\s*=\s*["']?(?<name>[\w.:\-]{1,40})/iv.exec(
      bytes.subarray(0, 1024).toString('latin1'),
    );
  try {
    return new TextDecoder(named?.groups?.['name'] ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
