import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Json } from '../../../domain/json-schema.ts';
import type { Connection, ThreadPart } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { egressTo, openConnection } from '../connection.ts';
import { fileOf, pictureFile, videoFile, type TestPartMedia } from '../files.ts';
import { nextStep, partsWith, sendStep } from '../publish.ts';
import { articleOf, bench, connected, linkedin, requests, selfServe } from './bench.ts';
import { listening } from '../../support/listening.ts';

/** A video of three ranges, extended by a free box, which is part of the format. */
async function longVideo(): Promise<TestPartMedia> {
  const { bytes, type } = await videoFile();
  const free = Buffer.alloc(9 * 1024 * 1024);
  free.writeUInt32BE(free.length);
  free.write('free', 4);
  return fileOf(Buffer.concat([bytes, free]), { name: 'film.mp4', type });
}

const sizes = (proxy: Awaited<ReturnType<typeof lossyProxy>>): number[] =>
  proxy.seen
    .filter(({ method }) => method === 'PUT')
    .map(({ headers }) => Number(headers['content-length']));
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** The uploads that the ledger stores, across attempts in separate processes. */
function ledger() {
  const kept = new Map<string, string>();
  return {
    uploadsOf: ({ key }: ThreadPart) => JSON.parse(kept.get(key) ?? 'null') as Json,
    saveUploads: async ({ key }: ThreadPart, uploads: Json) => {
      kept.set(key, JSON.stringify(uploads));
    },
  } satisfies Partial<Connection>;
}

async function posting(t: ExecutionContext, files: readonly TestPartMedia[], token = 'demo') {
  const world = await connected(t, { token });
  const proxy = await lossyProxy(t, world.account.baseUrl);
  const uploads = ledger();
  const attempt = (differently: Partial<Connection> = {}) =>
    openConnection(t, world.account, { baseUrl: proxy.url, ...uploads, ...differently });
  const parts = partsWith(files, 'With files');
  const step = nextStep(linkedin, await linkedin.prepare(attempt(), parts, Date.now()), []);
  return { ...world, proxy, uploads, attempt, step };
}

test('a video is live, and is uploaded in ranges', async (t) => {
  const file = await longVideo();
  const { account, url, proxy, attempt, step } = await posting(t, [file]);
  const [sent] = await sendStep(linkedin, attempt(), step);

  t.regex(sent?.remoteId ?? '', /^urn:li:ugcPost:/);
  const [, path] =
    /<video src="([^"]*)"/.exec(await articleOf(account, sent?.remoteId ?? '')) ?? [];
  const shown = await fetch(url + path);
  t.true(file.bytes.equals(Buffer.from(await shown.arrayBuffer())));
  t.is(sizes(proxy).length, 3);
  t.is(sum(sizes(proxy)), file.sizeBytes);
});

test('after a worker is killed midway, the next attempt continues at the next range: no byte is sent twice', async (t) => {
  const file = await longVideo();
  const { proxy, uploads, attempt, step, posts } = await posting(t, [file]);
  let saved = 0;
  const killed: Connection['saveUploads'] = async (part, kept) => {
    await uploads.saveUploads(part, kept);
    saved += 1;
    if (saved === 3) {
      throw new Error('The worker was killed.');
    }
  };
  await t.throwsAsync(sendStep(linkedin, attempt({ saveUploads: killed }), step));
  t.is(sizes(proxy).length, 2);
  t.deepEqual(await posts(), []);

  await sendStep(linkedin, attempt(), step);
  t.is(sum(sizes(proxy)), file.sizeBytes);
  t.is((await posts()).length, 1);
});

for (const request of ['bytes', 'finalize'] as const) {
  test(`after a lost answer to ${request} of a video there is one video, and one post`, async (t) => {
    const file = await longVideo();
    const { proxy, attempt, step, posts } = await posting(t, [file]);
    proxy.plan(requests[request], { kind: 'lost' });
    const lost = { code: 'network_unavailable', accepted: 'no' };
    t.like(await t.throwsAsync(sendStep(linkedin, attempt(), step)), lost);
    await sendStep(linkedin, attempt(), step);

    t.is((await posts()).length, 1);
    const begun = proxy.seen.filter(({ path }) => /videos\?action=initialize/.test(path));
    t.is(begun.length, 1);
  });
}

test('an app that may not see the status of files uploads a video again after a lost answer to finalize, and posts once', async (t) => {
  const { proxy, attempt, step, posts } = await posting(t, [await videoFile()], selfServe);
  proxy.plan(requests.finalize, { kind: 'lost' });
  const lost = { code: 'network_unavailable', accepted: 'no' };
  t.like(await t.throwsAsync(sendStep(linkedin, attempt(), step)), lost);
  await sendStep(linkedin, attempt(), step);

  t.is(sizes(proxy).length, 2);
  t.is((await posts()).length, 1);
});

test('after an upload URL expires, the upload starts again', async (t) => {
  const { proxy, attempt, step, posts } = await posting(t, [await longVideo()]);
  proxy.plan(requests.bytes, { kind: 'none' });
  proxy.plan(requests.bytes, { kind: 'refused', answer: { status: 403 } });
  const expired = { code: 'network_unavailable', accepted: 'no' };
  t.like(await t.throwsAsync(sendStep(linkedin, attempt(), step)), expired);
  await sendStep(linkedin, attempt(), step);

  t.is(sizes(proxy).length, 5);
  t.is((await posts()).length, 1);
});

test('a post waits while LinkedIn processes its video', async (t) => {
  const { control, proxy, attempt, step, posts } = await posting(t, [await videoFile()]);
  await control('slow');
  await sendStep(linkedin, attempt(), step);

  t.is((await posts()).length, 1);
  const asked = proxy.seen.map(({ method, path }) => `${method} ${path}`);
  t.true(asked.filter((line) => /^GET .*\/videos\//.test(line)).length > 1);
  t.regex(asked.at(-1) ?? '', /^POST .*\/posts$/);
});

test('if LinkedIn does not show an image’s status, a later attempt posts it once it is ready', async (t) => {
  const { control, proxy, attempt, step, posts } = await posting(
    t,
    [await pictureFile()],
    selfServe,
  );
  await control('slow');
  const early = await t.throwsAsync(sendStep(linkedin, attempt(), step));
  t.like(early, { code: 'network_unavailable', accepted: 'no' });
  t.regex(early?.message ?? '', /is still processing a file of the post \(HTTP 400\)/v);
  t.deepEqual(await posts(), []);

  await sleep(4000);
  await sendStep(linkedin, attempt(), step);
  t.is(sizes(proxy).length, 1, 'the image is not uploaded again');
  t.is((await posts()).length, 1);
});

test('an attempt that ends while LinkedIn processes a video leaves it to the next one', async (t) => {
  const { control, proxy, attempt, step, posts } = await posting(t, [await videoFile()]);
  await control('slow');
  const over = new AbortController();
  const isProcessing = { method: 'GET', path: /\/videos\// };
  proxy.plan(isProcessing, {
    kind: 'held',
    onReceived: () => over.abort(new Error('The attempt has timed out.')),
  });
  const ended = sendStep(linkedin, attempt({ signal: over.signal }), step);
  t.like(await t.throwsAsync(ended), { code: 'network_unavailable', accepted: 'no' });
  const bytes = sum(sizes(proxy));

  await sendStep(linkedin, attempt(), step);
  t.is(sum(sizes(proxy)), bytes);
  t.is((await posts()).length, 1);
});

test('an error names a file that LinkedIn cannot process, and nothing is posted', async (t) => {
  for (const file of [await videoFile(), await pictureFile()]) {
    const { control, attempt, step, posts } = await posting(t, [file]);
    await control('broken');
    const error = await t.throwsAsync(sendStep(linkedin, attempt(), step));
    t.like(error, { code: 'media_refused', accepted: 'no' });
    t.true(error?.message.includes(`"${file.name}"`));
    t.deepEqual(await posts(), []);
  }
});

test('images from an earlier attempt are not sent again', async (t) => {
  const files = [await pictureFile('a.png'), await pictureFile('b.png')];
  const { proxy, attempt, step, posts } = await posting(t, files);
  proxy.plan(requests.bytes, { kind: 'none' });
  proxy.plan(requests.bytes, { kind: 'refused', answer: { status: 503 } });
  await t.throwsAsync(sendStep(linkedin, attempt(), step));
  await sendStep(linkedin, attempt(), step);

  t.is(sizes(proxy).length, 3);
  t.is((await posts()).length, 1);
});

/** A server other than LinkedIn's, which records the credentials that it gets. */
async function foreignServer(t: ExecutionContext) {
  const told: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    told.push(request.headers.authorization);
    request.resume().on('end', () => response.writeHead(201).end());
  });
  const port = await listening(t, server);
  return { told, url: `http://127.0.0.1:${port}/upload` };
}

test('an upload URL gets no token unless it is LinkedIn’s, and none that egress blocks is opened', async (t) => {
  const { account, proxy, attempt, step } = await posting(t, [await pictureFile()]);
  const foreign = await foreignServer(t);
  const answer = {
    status: 200,
    body: JSON.stringify({ value: { uploadUrl: foreign.url, image: 'urn:li:image:x' } }),
  };
  proxy.plan(bench.uploads, { kind: 'refused', answer });
  t.like(await t.throwsAsync(sendStep(linkedin, attempt(), step)), {
    code: 'network_unavailable',
    message:
      'LinkedIn has an address that this service may not reach. The URL does not begin with https://.',
  });
  t.deepEqual(foreign.told, []);

  proxy.plan(bench.uploads, { kind: 'refused', answer });
  const http = egressTo(t, proxy.url, account.baseUrl, foreign.url);
  proxy.plan({ method: 'GET', path: /\/images\// }, { kind: 'refused', answer: { status: 503 } });
  await t.throwsAsync(sendStep(linkedin, attempt({ http }), step));
  t.deepEqual(foreign.told, [undefined]);
});
