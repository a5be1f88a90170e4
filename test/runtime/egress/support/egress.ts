import { connect as dial } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { buildConnector } from 'undici';
import { parseAllowList } from '../../../../runtime/egress/allow-list.ts';
import { createEgress, type EgressOptions } from '../../../../runtime/egress/create-egress.ts';
import { EgressError, type EgressRequest } from '../../../../runtime/egress/egress.ts';
import type { Resolve } from '../../../../runtime/egress/resolver.ts';

type Overrides = Partial<Omit<EgressOptions, 'allow'>> & { allow?: string };

/** An egress that ends with the test and can ask no real DNS. */
export function testEgress(t: ExecutionContext, { allow = '', ...options }: Overrides = {}) {
  const egress = createEgress({ allow: parseAllowList(allow), resolve: noDns, ...options });
  t.teardown(() => egress.close());
  return egress;
}

/** An egress that may talk to 127.0.0.1 at the ports of these servers. */
export const egressTo = (t: ExecutionContext, ...servers: readonly { port: number }[]) =>
  testEgress(t, { allow: servers.map(({ port }) => `127.0.0.1/32:${port}`).join(',') });

export const noDns: Resolve = async (host) => {
  throw new Error(`The test asked DNS for ${host}.`);
};

export const dns =
  (names: Readonly<Record<string, readonly string[]>>): Resolve =>
  async (host) =>
    names[host] ?? [];

/**
 * A connector that keeps what it was asked to dial, and dials 127.0.0.1 at `port` instead; with no port, nothing.
 * What it returns says to the guard that it is connected to wherever it really is.
 */
export function recordingConnector(port?: number) {
  const dialled: string[] = [];
  const connect: buildConnector.connector = (options, callback) => {
    dialled.push(options.hostname);
    if (port === undefined) {
      callback(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), null);
      return;
    }

    const socket = dial(port, '127.0.0.1', () => callback(null, socket));
    socket.on('error', (error) => callback(error, null));
  };
  return { dialled, connect };
}

export const get = (url: string, options: Partial<EgressRequest> = {}): EgressRequest => ({
  method: 'GET',
  url,
  timeoutMs: 5000,
  maxBytes: 2048,
  ...options,
});

export const post = (url: string, options: Partial<EgressRequest> = {}): EgressRequest =>
  get(url, { method: 'POST', body: '{"a":1}', ...options });

/** The failure of a request as `code` or, when bytes may have left, `code, maybe sent`. */
export async function failure(t: ExecutionContext, answer: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(answer, { instanceOf: EgressError });
  return `${error?.code}${error?.maybeSent ? ', maybe sent' : ''}`;
}
