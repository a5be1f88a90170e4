import { Agent, buildConnector } from 'undici';
import { createKeyedSemaphore } from '../keyed-semaphore.ts';
import { guardConnector } from './connector.ts';
import { createDownload } from './download.ts';
import { maxHeaderBytes } from './egress-error.ts';
import type { Downloader, Egress } from './egress.ts';
import { createResolver, type Resolve } from './find-addresses.ts';
import { sendRequest } from './send-request.ts';
import type { OperatorLists } from './target-policy.ts';

export type EgressOptions = OperatorLists & {
  /** Where this service is reached from outside, for requests that must not lead back to it. */
  readonly ownUrl?: string;
  /** For tests; DNS otherwise. */
  readonly resolve?: Resolve;
  /** For tests, which count what is dialled. Gets checked addresses only. */
  readonly connect?: buildConnector.connector;
  /** For tests: the one authority to trust instead of the system's, in PEM. */
  readonly ca?: string;
};

/**
 * Builds what sends every request to a chosen address (see `Egress` and `Downloader`). No proxy of the environment applies.
 *
 * When the caller's signal aborts, a request fails as if its time were up: `timeout`, with the signal's reason as
 * cause and the truth about `maybeSent`. A status that has come by then is handed over all the same.
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
 * More to one origin than any of our tasks has in flight (a worker makes 200 deliveries at a time): endpoints of many
 * workspaces are at the same host, and none may wait for another that hangs. Each of them gets few at a time.
 */
const maxPerOrigin = 256;

/** An idle connection is kept no longer, whatever the receiver says: its address was checked for now, not for ever. */
const idleMs = 4000;

/** Makes connections, each of them past the guard. Neither redirects nor proxies of the environment apply. */
function createAgent(options: EgressOptions): Agent {
  const { resolve = createResolver(), ca } = options;
  // `rejectUnauthorized` is said so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot unsay it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: 5000, ...(ca ? { ca } : {}) };
  return new Agent({
    connect: guardConnector({ ...options, resolve }, options.connect ?? buildConnector(tls)),
    allowH2: false,
    connections: maxPerOrigin,
    pipelining: 1,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // A connection that is never idle would outlive every change of the name's addresses.
    clientTtl: 60_000,
    // The deadline of each request counts instead of these.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
