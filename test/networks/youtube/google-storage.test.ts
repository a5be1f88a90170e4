import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { env } from '../../support/env.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { fileOf } from '../files.ts';
import { nextStep, sendStep, throughDatabase } from '../publish.ts';
import { filmParts } from './bench.ts';
import { listening } from '../../support/listening.ts';

const test = needs('gcs-emulator');

/**
 * Replaces YouTube's upload sessions by those of Google's storage. Only a session's start and final answer differ
 * there; chunks and their answers are forwarded unchanged.
 *
 * @returns a hook that is called before each chunk; it may refuse the chunk.
 */
async function gateway(t: ExecutionContext) {
  const storage = env('PUNCTUAL_TEST_GCS_URL');
  const bucket = `videos-${crypto.randomUUID()}`;
  await fetch(`${storage}/storage/v1/b?project=test`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: bucket }),
  });
  const seen: { range: string; bytes: number; status: number }[] = [];
  const line = { breaksAfter: Number.POSITIVE_INFINITY };
  async function pass(request: IncomingMessage, response: ServerResponse) {
    const { method = 'GET', url = '/', headers } = request;
    const begins = method === 'POST';
    const path = begins ? `/upload/storage/v1/b/${bucket}/o?uploadType=resumable&name=film` : url;
    const body = await buffer(request);
    if (!begins && body.length > 0 && seen.length >= line.breaksAfter) {
      response.destroy();
      return;
    }

    // The length belongs to the original body, which is replaced at the start of a session.
    const { host: _, connection: __, 'content-length': ___, ...own } = headers;
    const answer = await fetch(storage + path, {
      method,
      headers: own as Record<string, string>,
      redirect: 'manual',
      body: begins ? JSON.stringify({ contentType: 'video/mp4' }) : new Uint8Array(body),
    });
    const range = headers['content-range'] ?? '';
    seen.push({ range, bytes: begins ? 0 : body.length, status: answer.status });
    const given = Object.fromEntries(
      ['location', 'range'].flatMap((name) => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value.replace(/^https?:\/\/[^\/]+/v, url0())]];
      }),
    );
    const made = !begins && answer.status === 200 ? JSON.stringify({ id: 'dQw4w9WgXcQ' }) : '';
    response.writeHead(answer.status, given).end(made);
  }
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  const url0 = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await listening(t, server);
  const stored = async () => {
    const response = await fetch(`${storage}/download/storage/v1/b/${bucket}/o/film?alt=media`);
    return Buffer.from(await response.arrayBuffer());
  };
  return { url: url0(), seen, line, stored };
}

test('an upload in Google’s own protocol continues after an interruption, and arrives complete', async (t) => {
  const { url, seen, line, stored } = await gateway(t);
  const bytes = Buffer.alloc(3_000_007, 'a film that is longer than a chunk; ');
  const file = fileOf(bytes, { name: 'film.mp4', type: 'video/mp4' });
  const account = {
    baseUrl: url,
    remoteId: 'UC0',
    handle: '@demo',
    credentials: { accessToken: 'demo' },
    session: null,
    settings: {},
  };
  const connection = openConnection(t, account);
  const parts = await filmParts(['Long'], { file });
  const prepared = throughDatabase(await youtubeNetwork.prepare(connection, parts, Date.now()));
  const step = nextStep(youtubeNetwork, prepared, []);

  line.breaksAfter = 6;
  t.like(await t.throwsAsync(sendStep(youtubeNetwork, connection, step)), {
    code: 'network_unavailable',
    accepted: 'no',
  });
  t.deepEqual(await youtubeNetwork.reconcile(connection, step), { kind: 'absent' });
  line.breaksAfter = Number.POSITIVE_INFINITY;
  const [sent] = await sendStep(youtubeNetwork, connection, step);

  t.is(sent?.remoteId, 'dQw4w9WgXcQ');
  t.true((await stored()).equals(bytes));
  t.is(
    seen.reduce((sum, one) => sum + one.bytes, 0),
    bytes.length,
  );
  t.deepEqual([...new Set(seen.map(({ status }) => status))], [200, 308]);
});
