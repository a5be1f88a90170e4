import test, { type ExecutionContext } from 'ava';
import { connectMastodon } from '../../networks/mastodon/connect.ts';
import { mastodonNetwork } from '../../networks/mastodon/adapter.ts';
import type { Connection, Network } from '../../networks/network.ts';
import { egressTo, openConnection } from '../networks/connection.ts';
import { fileOf, videoFile } from '../networks/files.ts';
import { connected as connectedLinkedin, linkedin } from '../networks/linkedin/bench.ts';
import { connected as connectedX, x } from '../networks/x/bench.ts';
import { partsWith, publish } from '../networks/publish.ts';
import { inputFile } from '../support/input-file.ts';
import { longGif, picture, video } from '../support/media-files.ts';
import { openSandbox } from './open-sandbox.ts';

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

test('X accepts a GIF of 350 frames and a video of 150 s, and LinkedIn one of 250 frames', async (t) => {
  const [adapter, connection] = (await connect['x']?.(t)) ?? t.fail();
  await publish(adapter, connection, partsWith([gif(350)], 'One'));
  await publish(adapter, connection, partsWith([film(inputFile('lasts-150s.mp4'))], 'Two'));
  await publish(adapter, connection, partsWith([await videoFile()], 'Three'));
  const [other, account] = (await connect['linkedin']?.(t)) ?? t.fail();
  await publish(other, account, partsWith([gif(250)], 'Four'));

  t.pass();
});
