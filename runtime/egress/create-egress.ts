import type { Agent, Dispatcher } from 'undici';
import { createAgent, maxPerOrigin, type EgressOptions } from './create-agent.ts';
import { startDeadline } from './deadline.ts';
import { createDownload } from './create-download.ts';
import type { Downloader } from './download.ts';
import { EgressError, type Egress, type EgressRequest, type EgressResponse } from './egress.ts';
import { egressError } from './egress-failure.ts';
import { exchange } from './exchange.ts';
import { parseRequestUrl } from './own-host.ts';
import { bodyOf } from './request-body.ts';
import { requestHeaders } from './request-headers.ts';
import { createTurnstile, type Turnstile } from './turnstile.ts';

export type { EgressOptions } from './create-agent.ts';

/**
 * Builds the one way out to chosen addresses (see `Egress` and `Downloader`). No proxy of the environment applies.
 *
 * When the caller's signal aborts, a request fails as if its time were up: `timeout`, with the signal's reason as
 * cause and the truth about `maybeSent`. A status that has come by then is handed over all the same.
 */
export function createEgress(options: EgressOptions): Egress & Downloader {
  const agent = createAgent(options);
  const enter = createTurnstile(maxPerOrigin);
  const inFlight = new Set<Promise<unknown>>();
  const track = async <T>(work: Promise<T>): Promise<T> => {
    inFlight.add(work);
    try {
      return await work;
    } finally {
      inFlight.delete(work);
    }
  };

  return {
    request: (request) => track(send(agent, enter, request, options)),
    download: createDownload({ agent, enter, track }),
    async close() {
      while (inFlight.size > 0) {
        await Promise.allSettled(inFlight);
      }

      await agent.destroy();
    },
  };
}

async function send(
  agent: Agent,
  enter: Turnstile,
  request: EgressRequest,
  guard: EgressOptions,
): Promise<EgressResponse> {
  const body = bodyOf(request);
  const url = parseRequestUrl(request, guard);
  if ('refusal' in url) {
    body.discard();
    throw new EgressError('blocked_destination', url.refusal, { maybeSent: false });
  }

  const options: Dispatcher.DispatchOptions = {
    origin: url.origin,
    path: url.path,
    method: request.method,
    headers: { ...requestHeaders(request.headers), ...body.headers },
    body: body.content,
  };
  const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
  try {
    const leave = await enter(url.origin, signal).catch(() => null);
    if (leave === null || signal.aborted) {
      leave?.();
      throw egressError('timeout', { maybeSent: false, cause: signal.reason });
    }

    const { maxBytes, mayStart } = request;
    return await exchange(agent, options, { maxBytes, mayStart, signal, onFreed: leave });
  } finally {
    stop();
    body.discard();
  }
}
