import { finished } from 'node:stream/promises';
import type { Agent } from 'undici';
import { headerText } from '../bytes.ts';
import type { KeyedSemaphore } from '../concurrency.ts';
import {
  blocked,
  BodyTooLargeError,
  EgressError,
  type Download,
  type Downloader,
  type DownloadRequest,
} from './egress.ts';
import { acquireSlot, requestHeaders, startDeadline, streamExchange } from './exchange.ts';
import { parseUrl } from './target.ts';

type Parts = {
  readonly agent: Agent;
  /** Keyed by origin. */
  readonly slots: KeyedSemaphore;
  /** Makes `close` wait for this work. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
};

/** Follows redirects, which links to pictures often need. The guard checks every hop when it connects. */
export function createDownload({ agent, slots, track }: Parts): Downloader['download'] {
  const hop = async (url: string, request: DownloadRequest, signal: AbortSignal) => {
    const parsed = parseUrl(url);
    if ('refusal' in parsed) {
      throw blocked(parsed.refusal);
    }

    const options = {
      origin: parsed.origin,
      path: parsed.path,
      method: 'GET' as const,
      headers: requestHeaders(request.headers),
    };
    const release = await acquireSlot(slots, parsed.origin, signal);
    const freed = Promise.withResolvers<void>();
    void track(freed.promise);
    const onFreed = () => {
      release();
      freed.resolve();
    };
    return streamExchange(agent, options, { ...request, signal, onFreed });
  };

  return async (request) => {
    const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
    try {
      const found = await follow(request, (url) => hop(url, request, signal));
      void finished(found.body, { writable: false })
        .catch(() => undefined)
        .finally(stop);
      return found;
    } catch (error) {
      stop();
      throw error;
    }
  };
}

type Hop = (url: string) => Promise<Omit<Download, 'url'>>;

/** Follows redirects until a response that is not one. */
async function follow({ url, maxRedirects, maxBytes }: DownloadRequest, hop: Hop) {
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await hop(at);
    const next = targetOf(answer, at);
    if (next === undefined) {
      if (isSuccess(answer.status) && Number(answer.headers['content-length']) > maxBytes) {
        answer.body.destroy();
        throw new BodyTooLargeError(maxBytes);
      }

      return { ...answer, url: at };
    }

    answer.body.destroy();
    if (redirects >= maxRedirects) {
      throw new EgressError('invalid_response', `It redirects more than ${maxRedirects} times.`, {
        maybeSent: true,
      });
    }

    at = next;
  }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Returns the redirect's target, or undefined. @throws EgressError for an invalid URL. */
function targetOf({ status, headers }: Omit<Download, 'url'>, from: string): string | undefined {
  const location = headers['location'];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
    return undefined;
  }

  const next = URL.parse(headerText(location), from);
  if (!next) {
    throw blocked('It redirects to an address that is not valid.');
  }

  return next.href;
}
