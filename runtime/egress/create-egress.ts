import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { AllowList } from './allow-list.ts';
import { startDeadline } from './deadline.ts';
import { EgressError, type Egress, type EgressRequest, type EgressResponse } from './egress.ts';
import { egressError } from './egress-failure.ts';
import { exchange } from './exchange.ts';
import { guardConnector } from './guarded-connector.ts';
import { createResolver, type Resolve } from './resolver.ts';
import { parseUrl } from './target.ts';
import { createTurnstile } from './turnstile.ts';

export type EgressOptions = {
  readonly allow: AllowList;
  /** For tests; DNS otherwise. */
  readonly resolve?: Resolve;
  /** For tests, which count what is dialled. Gets judged addresses only. */
  readonly connect?: buildConnector.connector;
  /** For tests: the one authority to trust instead of the system's, in PEM. */
  readonly ca?: string;
};

/** More to one origin than any of our tasks has in flight, and few enough to be polite. */
const maxPerOrigin = 64;

/** An idle connection is kept no longer, whatever the receiver says: its address was judged for now, not for ever. */
const idleMs = 4000;

/** Set by undici, or by us below; a caller who sets them means something that would not happen. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'accept-encoding',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
]);

/**
 * Builds the one way out to chosen addresses (see `Egress`). Neither redirects nor proxies of the environment apply.
 *
 * When the caller's signal aborts, a request fails as if its time were up: `timeout`, with the signal's reason as
 * cause and the truth about `maybeSent`. A status that has come by then is handed over all the same.
 */
export function createEgress(options: EgressOptions): Egress {
  const { allow, resolve = createResolver(), ca } = options;
  // `rejectUnauthorized` is said so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot unsay it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: 5000, ...(ca ? { ca } : {}) };
  const agent = new Agent({
    connect: guardConnector({ allow, resolve }, options.connect ?? buildConnector(tls)),
    allowH2: false,
    connections: maxPerOrigin,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // A connection that is never idle would outlive every change of the name's addresses.
    clientTtl: 60_000,
    // The deadline of each request counts instead of these.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const enter = createTurnstile(maxPerOrigin);
  const inFlight = new Set<Promise<unknown>>();

  return {
    async request(request) {
      const response = send(agent, enter, request);
      inFlight.add(response);
      try {
        return await response;
      } finally {
        inFlight.delete(response);
      }
    },
    async close() {
      await Promise.allSettled(inFlight);
      await agent.destroy();
    },
  };
}

async function send(
  agent: Agent,
  enter: ReturnType<typeof createTurnstile>,
  request: EgressRequest,
): Promise<EgressResponse> {
  const url = parseUrl(request.url);
  if ('refusal' in url) {
    throw new EgressError('blocked_destination', url.refusal, { maybeSent: false });
  }

  const options: Dispatcher.DispatchOptions = {
    origin: url.origin,
    path: url.path,
    method: request.method,
    headers: headersOf(request),
    body: request.body ?? null,
  };
  const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
  try {
    const leave = await enter(url.origin, signal).catch(() => null);
    if (leave === null || signal.aborted) {
      leave?.();
      throw egressError('timeout', { maybeSent: false, cause: signal.reason });
    }

    return await exchange(agent, options, { maxBytes: request.maxBytes, signal, onFreed: leave });
  } finally {
    stop();
  }
}

function headersOf({ headers = {} }: EgressRequest): Record<string, string> {
  const own = Object.keys(headers).find((name) => ownHeaders.has(name.toLowerCase()));
  if (own !== undefined) {
    throw new TypeError(`The header ${own} is not the caller's to set.`);
  }

  return { ...headers, 'accept-encoding': 'identity' };
}
