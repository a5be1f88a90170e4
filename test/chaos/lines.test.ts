import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { poll } from '../support/poll.ts';
import { arrive } from './networks/forward.ts';
import { networkLine, uploadHeaders, type LineOptions } from './networks/network-line.ts';
import { plannedFaults } from './networks/planned-faults.ts';
import { playedLine } from './networks/platform-line.ts';
import { openCues } from './parts/cues.ts';
import { openJournal } from './parts/journal.ts';
import type { PostFault } from './plan/faults.ts';
import type { Platform } from './plan/platforms.ts';
import type { PostPlan } from './plan/post-plan.ts';
import { textOf, textsOf } from './plan/texts.ts';

const marker = 'p1';
const texts = textsOf(marker, 2, 1);
const file = Buffer.alloc(20_000, 'f');

type Reached = { readonly host: string; readonly bytes: number; readonly isComplete: boolean };

/** A server that records each request, and returns an address for uploads. */
async function startServer(t: ExecutionContext) {
  const reached: Reached[] = [];
  const server = createServer((incoming: IncomingMessage, response) => {
    const { host = '' } = incoming.headers;
    void arrive(incoming).then(({ bytes, isComplete }) => {
      reached.push({ host, bytes: bytes.length, isComplete });
      response.writeHead(200, { location: `http://${host}/upload?upload_id=u1` }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, reached };
}

async function lineTo(
  t: ExecutionContext,
  server: LineOptions['server'],
  planned: { readonly fault: PostFault; readonly platform: Platform } | null = null,
) {
  const faults = plannedFaults();
  const journal = openJournal(() => Date.now());
  const slowed: string[] = [];
  if (planned) {
    const fault = { id: 'f1', part: 2, mayMiss: false, ...planned };
    faults.add([{ marker, faults: [fault] } as unknown as PostPlan]);
  }

  const line = await networkLine(t, {
    ...playedLine('youtube', 'youtube-1'),
    server,
    storm: { untilMs: 0 },
    faults,
    journal,
    cues: openCues(),
    killWorker: () => undefined,
    slowDown: async () => void slowed.push('slow'),
  });
  return { line, journal, slowed };
}

const begin = (url: string): Promise<Response> =>
  fetch(`${url}/youtube/upload/youtube/v3/videos?uploadType=resumable`, {
    method: 'POST',
    body: JSON.stringify({ snippet: { title: texts[0], description: texts.join('\n\n') } }),
  });

const put = (address: string, range: string, headers = {}): Promise<Response> =>
  fetch(address, { method: 'PUT', body: file, headers: { 'content-range': range, ...headers } });

test('the chunk with the last byte makes a video, with the texts that began its upload; earlier chunks make none', async (t) => {
  const server = await startServer(t);
  const { line } = await lineTo(t, { url: server.url, isAtLine: true });
  const address = (await begin(line.url)).headers.get('location') ?? '';
  // The upload address also leads through the line.
  t.is(new URL(address).port, String(line.port));
  await put(address, `bytes 0-${file.length - 1}/40000`);
  t.deepEqual(line.creates, []);
  await put(address, `bytes ${file.length}-39999/40000`);
  t.deepEqual(
    line.creates.map(({ labels, account }) => [account, labels.map(({ part }) => part)]),
    [['youtube-1', [1, 2]]],
  );
});

test('half of an interrupted upload reaches the network, and the next request reaches it completely', async (t) => {
  const server = await startServer(t);
  const planned = { fault: 'upload cut off', platform: 'youtube' } as const;
  const { line, journal } = await lineTo(t, { url: server.url, isAtLine: true }, planned);
  const address = `${line.url}/upload?upload_id=u1`;
  const range = 'bytes 0-19999/40000';
  // The fault is not planned for this post.
  await put(
    address,
    range,
    uploadHeaders([textOf({ marker: 'p2', part: 2, parts: 2, version: 1 })]),
  );
  await t.throwsAsync(put(address, range, uploadHeaders(texts)));
  await put(address, range, uploadHeaders(texts));
  await poll(
    async () => server.reached.length,
    (count) => count === 3,
  );
  t.deepEqual(
    server.reached.map(({ bytes, isComplete }) => [bytes, isComplete]),
    [
      [20_000, true],
      [10_000, false],
      [20_000, true],
    ],
  );
  t.is(journal.countOf('upload cut off'), 1);
});

test('a network is slowed down before the first request for a file of the post', async (t) => {
  const server = await startServer(t);
  const planned = { fault: 'processing slow', platform: 'youtube' } as const;
  const { line, slowed } = await lineTo(t, { url: server.url, isAtLine: true }, planned);
  await fetch(`${line.url}/begin`, { method: 'POST', body: '{}' });
  t.deepEqual(slowed, []);
  for (const headers of [uploadHeaders(texts), uploadHeaders(texts)]) {
    await fetch(`${line.url}/begin`, { method: 'POST', body: '{}', headers });
  }
  t.deepEqual(slowed, ['slow']);
});

test('the part of a request that a dead worker sent reaches the network', async (t) => {
  const server = await startServer(t);
  const { line } = await lineTo(t, { url: server.url, isAtLine: true });
  const request = httpRequest(`${line.url}/upload`, {
    method: 'PUT',
    headers: { 'content-length': String(file.length) },
  });
  request.on('error', () => undefined);
  request.write(file.subarray(0, 5000), () => request.destroy());
  await poll(
    async () => server.reached.length,
    (count) => count === 1,
  );
  t.like(server.reached[0], { bytes: 5000, isComplete: false });
});
