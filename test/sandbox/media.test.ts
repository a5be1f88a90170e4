import test, { type ExecutionContext } from 'ava';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { mastodonNetwork } from '../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../networks/mastodon/connect.ts';
import type { Connection, Network } from '../../networks/network.ts';
import { processed } from '../networks/bluesky/video-service.ts';
import { egressTo, openConnection } from '../networks/connection.ts';
import {
  fileOf,
  pictureFile,
  playableVideo,
  videoFile,
  type TestPartMedia,
} from '../networks/files.ts';
import { connected as connectedLinkedin, linkedin } from '../networks/linkedin/bench.ts';
import { partsWith, publish } from '../networks/publish.ts';
import { connected as connectedX, x } from '../networks/x/bench.ts';
import { inputFile } from '../support/input-file.ts';
import { picture, longGif, video } from '../support/media-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { blueskyClient, openSandbox, readPage } from './open-sandbox.ts';

const connectTo = {
  mastodon: (t: ExecutionContext, url: string) =>
    connectMastodon(egressTo(t, url), { baseUrl: `${url}/mastodon`, accessToken: 'demo' }),
  bluesky: (t: ExecutionContext, url: string) =>
    connectBluesky(egressTo(t, url), {
      baseUrl: `${url}/bluesky`,
      identifier: 'demo.sandbox.test',
      appPassword: 'demo',
    }),
} as const;
const networks = { mastodon: mastodonNetwork, bluesky: blueskyNetwork } as const;
const platforms = ['mastodon', 'bluesky'] as const;

/** The images and videos below texts on the page, with the files at their addresses. */
async function filesOn(url: string) {
  const page = await readPage(url);
  const tags = page.matchAll(/<(?<tag>img|video)[^>]*?src="(?<path>\/files\/[^"]*)"/gv);
  return Promise.all(
    [...tags].map(async ({ groups }) => {
      const answer = await fetch(url + groups?.['path']);
      const bytes = Buffer.from(await answer.arrayBuffer());
      return { tag: groups?.['tag'], type: answer.headers.get('content-type'), bytes };
    }),
  );
}

const asShown = (tag: string, files: readonly TestPartMedia[]) =>
  files.map(({ type, bytes }) => ({ tag, type, bytes }));

for (const platform of platforms) {
  test(`${platform}: our own adapter publishes images, and the page shows them in order`, async (t) => {
    const { url } = await openSandbox(t);
    const connection = openConnection(t, await connectTo[platform](t, url));
    const files = [await pictureFile('a.png'), await pictureFile('b.png')];
    await publish(networks[platform], connection, partsWith(files, 'Two'));

    t.deepEqual(await filesOn(url), asShown('img', files));
  });

  test(`${platform}: a video alone is shown as a video`, async (t) => {
    const { url } = await openSandbox(t);
    const connection = openConnection(t, await connectTo[platform](t, url));
    const file = platform === 'mastodon' ? await playableVideo() : await videoFile();
    const { sent } = await publish(networks[platform], connection, partsWith([file], ''));

    // Bluesky shows the result of its video service.
    const shown = platform === 'bluesky' ? { ...file, bytes: processed(file.bytes) } : file;
    t.deepEqual(await filesOn(url), asShown('video', [shown]));
    t.regex(await readPage(url), /<p class="text"><\/p>/v);
    const own = new URL(sent[0]?.url ?? '').pathname.replace(/^\/profile/v, '/bluesky/profile');
    t.regex(await readPage(url + own), /<title>A picture on/v);
  });
}

test('a file is served with its image type, and cannot run scripts', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  );
  await t.throwsAsync(agent.uploadBlob(svg, { encoding: 'image/svg+xml' }));
  const { data } = await agent.uploadBlob((await pictureFile()).bytes, { encoding: 'text/html' });

  const answer = await fetch(`${url}/files/${data.blob.ref.toString()}`);
  t.is(answer.headers.get('content-type'), 'image/png');
  t.is(answer.headers.get('x-content-type-options'), 'nosniff');
  t.is((await fetch(`${url}/files/..%2Fposts.json`)).status, 404);
});

test('images survive a restart with their posts', async (t) => {
  const dataFile = `${await temporaryFolder(t)}/posts.json`;
  const before = await openSandbox(t, { dataFile });
  const files = [await pictureFile()];
  for (const platform of platforms) {
    const connection = openConnection(t, await connectTo[platform](t, before.url));
    await publish(networks[platform], connection, partsWith(files, platform));
  }
  await before.close();
  const after = await openSandbox(t, { dataFile });

  t.deepEqual(await filesOn(after.url), asShown('img', [...files, ...files]));
});

const connect: Readonly<
  Record<string, (t: ExecutionContext) => Promise<readonly [Network, Connection]>>
> = {
  x: async (t) => [x, (await connectedX(t)).connection],
  linkedin: async (t) => [linkedin, (await connectedLinkedin(t)).connection],
  mastodon: async (t) => {
    const { url } = await openSandbox(t);
    const account = { baseUrl: `${url}/mastodon`, accessToken: 'demo' };
    return [mastodonNetwork, openConnection(t, await connectMastodon(egressTo(t, url), account))];
  },
};

const gif = (frames: number) => fileOf(longGif(frames), { name: 'a.gif', type: 'image/gif' });
const film = (bytes: Buffer) => fileOf(bytes, { name: 'a.mp4', type: 'video/mp4' });
const png = async (width: number, height: number) =>
  fileOf(await picture('png', { width, height }), { name: 'a.png' });

const refused: readonly [network: string, what: string, make: () => unknown][] = [
  ['x', 'a GIF of 400 frames', () => gif(400)],
  ['x', 'an image of 2 × 2 pixels', () => png(2, 2)],
  ['x', 'an image of 1080 × 9000 pixels', () => png(1080, 9000)],
  ['x', 'a video of 240 frames per second', () => film(inputFile('frame-rate-240.mp4'))],
  ['x', 'a video with sound in 5.1', async () => film(await video('mp4', { sound: 'aac-5.1' }))],
  ['x', 'a video in HE-AAC', async () => film(await video('mp4', { sound: 'he-aac' }))],
  ['x', 'a video with wide pixels', async () => film(await video('mp4', { pixelAspect: 2 }))],
  [
    'x',
    'a video in 4:4:4',
    async () => film(await video('mp4', { pixels: { profile: 244, chroma: 3, bitDepth: 8 } })),
  ],
  ['linkedin', 'a GIF of 251 frames', () => gif(251)],
  ['mastodon', 'a video of 240 frames per second', () => film(inputFile('frame-rate-240.mp4'))],
  ['mastodon', 'an image of 6000 × 6000 pixels', () => png(6000, 6000)],
];
for (const [network, what, make] of refused) {
  test(`${network} refuses ${what}`, async (t) => {
    const [adapter, connection] = (await connect[network]?.(t)) ?? t.fail();
    const file = (await make()) as ReturnType<typeof film>;

    const attempt = publish(adapter, connection, partsWith([file], 'Hi'));
    t.like(await t.throwsAsync(attempt), { code: 'media_refused', accepted: 'no' });
  });
}
