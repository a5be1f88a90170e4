import { Agent, buildConnector } from 'undici';
import { createKeyedSemaphore } from '../concurrency.ts';
import { guardConnector } from './connector.ts';
import { createResolver, type Resolve } from './destination.ts';
import { createDownload } from './download.ts';
import { maxHeaderBytes, type Downloader, type Egress } from './egress.ts';
import { sendRequest } from './send-request.ts';
import type { OperatorLists } from './target.ts';

export type EgressOptions = OperatorLists & {
  /** The public URL of this service, for requests that must not lead back to it. */
  readonly ownUrl?: string;
  /** For tests; defaults to DNS. */
  readonly resolve?: Resolve;
  /** For tests that count connections. Gets checked addresses only. */
  readonly connect?: buildConnector.connector;
  /** For tests: the only CA to trust, in PEM. */
  readonly ca?: string;
};

/**
 * Sends every request to a user-chosen address (see `Egress` and `Downloader`). Ignores proxies of the environment.
 *
 * When the caller's signal aborts, a request fails with `timeout`, the signal's reason as cause and an accurate
 * `maybeSent`. A status that has already arrived is still returned.
 */
export function createEgress(options: EgressOptions): Egress & Downloader {
  const agent = createAgent(options);
  const slots = createKeyedSemaphore(maxPerOrigin);
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
    request: (request) => track(sendRequest(request, { ...options, agent, slots })),
    download: createDownload({ agent, slots, track }),
    async close() {
      while (inFlight.size > 0) {
        await Promise.allSettled(inFlight);
      }

      await agent.destroy();
    },
  };
}

/**
 * More than any of our tasks sends to one origin (a worker makes 200 deliveries at a time). Endpoints of many
 * workspaces share a host, and a hung one must not block the others. Each endpoint has its own lower limit.
 */
const maxPerOrigin = 256;

/**
 * Idle connections close after this time, whatever the receiver's keep-alive says: the address was checked only once.
 */
const idleMs = 4000;

/** Ignores redirects and proxies of the environment. */
function createAgent(options: EgressOptions): Agent {
  const { resolve = createResolver(), ca } = options;
  // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot disable it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: 5000, ...(ca ? { ca } : {}) };
  return new Agent({
    connect: guardConnector({ ...options, resolve }, options.connect ?? buildConnector(tls)),
    allowH2: false,
    connections: maxPerOrigin,
    pipelining: 1,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // Without it, a busy connection would outlive every change of the name's addresses.
    clientTtl: 60_000,
    // Each request has its own deadline instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
