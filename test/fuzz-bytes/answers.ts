import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { bluesky } from '../../networks/bluesky/adapter.ts';
import { mastodon } from '../../networks/mastodon/adapter.ts';
import { NetworkError, type Account, type Network } from '../../networks/network.ts';
import { parseAllowList } from '../../runtime/egress/operator-lists.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { EgressError } from '../../runtime/egress/egress-error.ts';
import { openConnection } from '../networks/connection.ts';
import { near, type Property } from './property.ts';

const goodAnswers = [
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
  'HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n',
  'HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.0 301 Moved\r\nlocation: http://127.0.0.1/\r\n\r\n',
  'HTTP/1.1 429 Slow\r\nretry-after: 10\r\ncontent-length: 0\r\n\r\n',
].map((text) => Buffer.from(text, 'latin1'));

const timeoutMs = 500;

/** A receiver that answers with these bytes, and closes or does not. */
export async function receiverProperty(t: ExecutionContext): Promise<Property> {
  let next: { bytes: Buffer; isClosed: boolean } = { bytes: Buffer.alloc(0), isClosed: true };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (next.isClosed ? socket.end(next.bytes) : socket.write(next.bytes)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const egress = createEgress({ allow: parseAllowList(`127.0.0.1/32:${port}`) });
  t.teardown(async () => {
    await egress.close();
    server.close();
  });
  const url = `http://127.0.0.1:${port}/hook`;
  return {
    name: 'answers of webhook receivers',
    check: fc.asyncProperty(
      fc.oneof(
        near(...goodAnswers),
        fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)),
      ),
      fc.boolean(),
      async (bytes, isClosed) => {
        next = { bytes, isClosed };
        const beganMs = performance.now();
        try {
          const { status } = await egress.request({
            method: 'POST',
            url,
            body: '{}',
            timeoutMs,
            maxBytes: 1000,
          });
          if (!Number.isInteger(status) || status < 200 || status > 999) {
            throw new Error(`It is taken for a status of ${status}.`);
          }
        } catch (error) {
          if (!(error instanceof EgressError)) {
            throw error;
          }
        }

        if (performance.now() - beganMs > timeoutMs + 10_000) {
          throw new Error('It held the request for longer than it may take.');
        }
      },
    ),
  };
}

/** Answers that a network gives when all is well, as JSON. */
const wellKnown = [
  { id: '1', uri: 'https://a.example/1', url: 'https://a.example/@me/1', content: '<p>Hello</p>' },
  [{ id: '1', uri: 'https://a.example/1', content: 'Hello' }],
  { did: 'did:plc:abc', accessJwt: 'a.b.c', refreshJwt: 'd.e.f', handle: 'me.example' },
  { uri: 'at://did:plc:abc/app.bsky.feed.post/1', cid: 'bafyreib' },
  { results: [{ uri: 'at://x', cid: 'y' }], commit: { cid: 'z', rev: '1' } },
  { error: 'RateLimitExceeded', message: 'Slow down' },
  { error: 'Text character limit of 500 exceeded' },
].map((value) => Buffer.from(JSON.stringify(value)));

const anyAnswer: fc.Arbitrary<EgressResponse> = fc.record({
  status: fc.constantFrom(200, 200, 200, 202, 301, 400, 401, 403, 404, 422, 429, 500, 502, 503),
  headers: fc.dictionary(
    fc.constantFrom('retry-after', 'x-ratelimit-reset', 'ratelimit-reset', 'content-type', 'date'),
    fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    ),
  ),
  body: fc.oneof(
    near(...wellKnown),
    fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 100 }).map((raw) => Buffer.from(raw)),
  ),
  truncated: fc.boolean(),
});

const accounts: readonly (readonly [Network, Account])[] = [
  [
    mastodon,
    {
      baseUrl: 'http://127.0.0.1:9', // There is no connection: the answers are made up.
      remoteId: '1',
      handle: '@me@a.example',
      credentials: { accessToken: 'token' },
      session: null,
      settings: {},
    },
  ],
  [
    bluesky,
    {
      baseUrl: 'http://127.0.0.1:9',
      remoteId: 'did:plc:abc',
      handle: 'me.example',
      credentials: { identifier: 'did:plc:abc', appPassword: 'x' },
      session: null,
      settings: {},
    },
  ],
];

/** An adapter whose network answers anything at all: every call ends in what was promised, or a NetworkError. */
export const networkProperties = (t: ExecutionContext): Property[] =>
  accounts.map(([network, account]) => ({
    name: `answers of ${network.id}`,
    check: fc.asyncProperty(
      fc.array(anyAnswer, { minLength: 1, maxLength: 12 }),
      async (answers) => {
        const http = answering(answers);
        const connection = openConnection(t, account, { http });
        const parts = [{ key: 'k-0', text: 'Hello', media: [], options: {} }];
        try {
          const prepared = await network.prepare(
            connection,
            parts,
            Date.parse('2026-01-01T00:00:00Z'),
          );
          const step = { parts: prepared, sent: [] };
          for (const { remoteId, url } of await network.send(connection, step, [])) {
            assertText(remoteId, url);
          }

          const finding = await network.reconcile(connection, step);
          for (const { remoteId, url } of finding.kind === 'found'
            ? finding.candidates.flat()
            : []) {
            assertText(remoteId, url);
          }
        } catch (error) {
          if (!(error instanceof NetworkError)) {
            throw error;
          }

          if (error.retryAtMs !== undefined && !Number.isFinite(error.retryAtMs)) {
            throw new Error('It is tried again at no time.', { cause: error });
          }
        }
      },
    ),
  }));

function assertText(remoteId: unknown, url: unknown): void {
  if (
    typeof remoteId !== 'string' ||
    remoteId === '' ||
    typeof url !== 'string' ||
    !/^https?:\/\//v.test(url)
  ) {
    throw new Error(`A post with the id ${JSON.stringify(remoteId)} at ${JSON.stringify(url)}.`);
  }
}

/** Gives one answer after the other, and the last one again and again. */
function answering(answers: readonly EgressResponse[]): Egress {
  let asked = 0;
  return {
    request: async () => {
      asked += 1;
      if (asked > 2000) {
        throw new Error('The network is asked without end.');
      }

      return answers[Math.min(asked, answers.length) - 1] as EgressResponse;
    },
    close: async () => undefined,
  };
}
