import { connect as dial, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { buildConnector } from 'undici';
import { parseAllowList } from '../../../../runtime/egress/addresses.ts';
import { createEgress, type EgressOptions } from '../../../../runtime/egress/create-egress.ts';
import {
  type DownloadRequest,
  type EgressRequest,
  EgressError,
} from '../../../../runtime/egress/egress.ts';
import type { ConnectTo } from '../../../../runtime/egress/connector.ts';
import type { Resolve } from '../../../../runtime/egress/destination.ts';
import { poll } from '../../../support/poll.ts';

type Overrides = Partial<Omit<EgressOptions, 'allow'>> & { allow?: string };

/** An egress that ends with the test and cannot use real DNS. */
export function testEgress(t: ExecutionContext, { allow = '', ...options }: Overrides = {}) {
  const egress = createEgress({ allow: parseAllowList(allow), resolve: noDns, ...options });
  t.teardown(() => egress.close());
  return egress;
}

/** An egress that may reach these servers' ports on 127.0.0.1. */
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
 * A connector that records the addresses to dial, and dials 127.0.0.1 at `port` instead; without a port it refuses. The
 * guard sees the returned socket's real remote address.
 */
export function recordingConnector(port?: number) {
  const dialled: string[] = [];
  const connectTo: ConnectTo = (addresses) => (_options, callback) => {
    dialled.push(...addresses.map(({ text }) => text));
    if (port === undefined) {
      callback(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), null);
      return;
    }

    const socket = dial(port, '127.0.0.1', () => callback(null, socket));
    socket.on('error', (error) => callback(error, null));
  };
  return { dialled, connectTo };
}

/**
 * An egress to this server that records its connections. `came` resolves when the first connection has received and
 * read this many bytes.
 */
export function watchedEgress(t: ExecutionContext, { port }: { port: number }) {
  const sockets: Socket[] = [];
  const connect = buildConnector({ allowH2: false });
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${port}`,
    connectTo: () => (options, callback) =>
      connect(options, (...result) => {
        sockets.push(...(result[1] ? [result[1]] : []));
        callback(...result);
      }),
  });
  const came = async (bytes: number): Promise<void> => {
    await poll(
      async () => sockets[0]?.bytesRead ?? 0,
      (count) => count >= bytes,
    );
    await turns();
  };
  return { egress, sockets, came };
}

export const get = (url: string, options: Partial<EgressRequest> = {}): EgressRequest => ({
  method: 'GET',
  url,
  timeoutMs: 60_000,
  maxBytes: 2048,
  ...options,
});

export const post = (url: string, options: Partial<EgressRequest> = {}): EgressRequest =>
  get(url, { method: 'POST', body: '{"a":1}', ...options });

export const file = (url: string, options: Partial<DownloadRequest> = {}): DownloadRequest => ({
  url,
  maxBytes: 1000,
  stallMs: 60_000,
  timeoutMs: 60_000,
  maxRedirects: 3,
  ...options,
});

/** A request's failure: `code`, or `code, maybe sent` if bytes may have left. */
export async function failure(t: ExecutionContext, answer: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(answer, { instanceOf: EgressError });
  return `${error?.code}${error?.maybeSent ? ', maybe sent' : ''}`;
}

/** Runs turns of the event loop. Every connection progresses in each, so they measure time equally on all machines. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise(setImmediate);
  }
}
