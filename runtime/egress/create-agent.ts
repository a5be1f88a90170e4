import { Agent, buildConnector } from 'undici';
import { guardConnector } from './guarded-connector.ts';
import type { Judging } from './judge-target.ts';
import { createResolver, type Resolve } from './resolver.ts';

export type EgressOptions = Judging & {
  /** Where this service is reached from outside, for requests that must not lead back to it. */
  readonly ownUrl?: string;
  /** For tests; DNS otherwise. */
  readonly resolve?: Resolve;
  /** For tests, which count what is dialled. Gets judged addresses only. */
  readonly connect?: buildConnector.connector;
  /** For tests: the one authority to trust instead of the system's, in PEM. */
  readonly ca?: string;
};

/**
 * More to one origin than any of our tasks has in flight (a worker makes 200 deliveries at a time): endpoints of many
 * workspaces are at the same host, and none may wait for another that hangs. Each of them gets few at a time.
 */
export const maxPerOrigin = 256;

/** An idle connection is kept no longer, whatever the receiver says: its address was judged for now, not for ever. */
const idleMs = 4000;

/** Makes connections, each of them past the guard. Neither redirects nor proxies of the environment apply. */
export function createAgent(options: EgressOptions): Agent {
  const { resolve = createResolver(), ca } = options;
  // `rejectUnauthorized` is said so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot unsay it.
  const tls = { rejectUnauthorized: true, allowH2: false, timeout: 5000, ...(ca ? { ca } : {}) };
  return new Agent({
    connect: guardConnector({ ...options, resolve }, options.connect ?? buildConnector(tls)),
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
}
