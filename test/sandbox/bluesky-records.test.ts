import test from 'ava';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { egressTo, openConnection, waysOutTo } from '../networks/connection.ts';
import { pictureFile } from '../networks/files.ts';
import { partsOf, partsWith, publish } from '../networks/publish.ts';
import { blueskyClient, openSandbox, readPage } from './open-sandbox.ts';

const withWebAddress = (url: string) => ({
  baseUrl: `${url}/bluesky`,
  identifier: 'demo.sandbox.test',
  appPassword: 'demo',
  webUrl: `${url}/bluesky`,
});

test('a post’s chosen options are in its record and on the page', async (t) => {
  const { url } = await openSandbox(t);
  const account = await connectBluesky(egressTo(t, url), withWebAddress(url));
  const options = { langs: ['en'], labels: ['nudity'] };
  const files = [{ ...(await pictureFile()), altText: 'A <statue>' }];
  const parts = partsWith(files, 'At the museum').map((part) => Object.assign(part, { options }));
  const { sent } = await publish(blueskyNetwork, openConnection(t, account), parts);

  const page = await readPage(sent[0]?.url ?? '');
  t.regex(page, /<summary>Labelled nudity<\/summary>\s*<p class="text">At the museum<\/p>/v);
  t.regex(page, /<figcaption>A &lt;statue&gt;<\/figcaption>/v);
  t.regex(page, /<li>nudity<\/li>\s*<li>en<\/li>/v);
});

test('a link has a card on the page', async (t) => {
  const { url } = await openSandbox(t);
  const account = await connectBluesky(egressTo(t, url), withWebAddress(url));
  const connection = openConnection(t, account, { downloads: waysOutTo(t, url) });
  const { sent } = await publish(blueskyNetwork, connection, partsOf(`See ${url}/mastodon/@demo`));

  t.is(sent[0]?.warning, undefined);
  const page = await readPage(sent[0]?.url ?? '');
  t.true(page.includes(`<a class="card" href="${url}/mastodon/@demo"`));
  t.true(page.includes('<span>Mastodon · Sandbox</span>'));
});

test('an image over a record’s size limit is refused, and so is a file of another type', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const large = Buffer.concat([(await pictureFile()).bytes, Buffer.alloc(1_000_001)]);
  const { data } = await agent.uploadBlob(large);
  const external = { uri: 'https://a.example' as const, title: 'T', description: '' };
  const card = {
    $type: 'app.bsky.embed.external' as const,
    external: { ...external, thumb: data.blob },
  };
  const images = {
    $type: 'app.bsky.embed.images' as const,
    images: [{ image: data.blob, alt: '' }],
  };
  const video = { $type: 'app.bsky.embed.video' as const, video: data.blob };

  await t.notThrowsAsync(agent.post({ text: 'Hi', embed: images }));
  await t.throwsAsync(agent.post({ text: 'Hi', embed: card }), { message: /too large/v });
  await t.throwsAsync(agent.post({ text: 'Hi', embed: video }), { message: /video\/mp4/v });
});
