import { finished } from 'node:stream/promises';
import type { Agent } from 'undici';
import { startDeadline } from './deadline.ts';
import {
  BodyTooLargeError,
  type Download,
  type Downloader,
  type DownloadRequest,
} from './download.ts';
import { EgressError } from './egress.ts';
import { egressError } from './egress-failure.ts';
import { requestHeaders } from './request-headers.ts';
import { streamExchange } from './stream-exchange.ts';
import { parseUrl } from './target.ts';
import type { Turnstile } from './turnstile.ts';

type Parts = {
  readonly agent: Agent;
  readonly enter: Turnstile;
  /** Keeps the way out open until this is through. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
};

/** Downloads follow redirects, as links to pictures often need it. The guard judges every hop at its connection. */
export function createDownload({ agent, enter, track }: Parts): Downloader['download'] {
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
    const leave = await enter(parsed.origin, signal).catch(() => null);
    if (leave === null || signal.aborted) {
      leave?.();
      throw egressError('timeout', { maybeSent: false, cause: signal.reason });
    }

    const freed = Promise.withResolvers<void>();
    void track(freed.promise);
    const onFreed = () => {
      leave();
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

/** Goes from redirect to redirect, up to an answer that is none. */
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

/** Where an answer redirects to, undefined when it does not. @throws EgressError for an address that is none. */
function targetOf({ status, headers }: Omit<Download, 'url'>, from: string): string | undefined {
  const location = headers['location'];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
    return undefined;
  }

  const next = URL.parse(location, from);
  if (!next) {
    throw blocked('It redirects to an address that is not valid.');
  }

  return next.href;
}

const blocked = (reason: string) =>
  new EgressError('blocked_destination', reason, { maybeSent: false });
