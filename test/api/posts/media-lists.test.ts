import type { ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { ca, fileServer } from '../media/support/file-server.ts';

const test = needs('postgres');

const shared = beforeTests(test, async (t) => {
  const server = await fileServer(t);
  return { server, punctual: await startLibrary(t, { ca, allowPorts: [server.port] }) };
});

type File = { readonly id: string; readonly media_id: string; readonly alt_text: string | null };

/** A workspace with two channels, two files, and a URL of a third. */
async function workspace(t: ExecutionContext) {
  const { server, punctual } = shared();
  const image = await picture('jpeg');
  const url = server.newSite({ '/c.jpg': (_, response) => response.end(image) }).at('/c.jpg');
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const [a, b] = [
    await storeMedia(punctual, workspaceId, { name: 'a.png' }),
    await storeMedia(punctual, workspaceId, { name: 'b.png' }),
  ];
  const mastodon = await storeChannel(punctual, workspaceId);
  const account = { platform: 'bluesky', handle: 'b.test' } as const;
  const bluesky = await storeChannel(punctual, workspaceId, account);
  const names = new Map([
    [a, 'a'],
    [b, 'b'],
  ]);
  /** Files as `a=alt text c`; `c` is the one that was downloaded. */
  const shown = (files: readonly File[]) =>
    files
      .map(({ id, media_id: mediaId, alt_text: alt }) => {
        t.is(id, mediaId);
        return `${names.get(id) ?? 'c'}${alt === null ? '' : `=${alt}`}`;
      })
      .join(' ');
  const create = (body: object) =>
    client.post('/posts', { body: 'x', channel_ids: [mastodon, bluesky], ...body });
  return { client, a, b, url, mastodon, bluesky, shown, create };
}

test('media is one ordered list of files and URLs, each with its alt text', async (t) => {
  const { client, a, b, url, shown, create } = await workspace(t);
  const media = [{ media_id: b }, { url, alt_text: 'C' }, { media_id: a, alt_text: 'A' }];
  const { status, body } = await create({ media });
  t.is(status, 201);
  t.is(shown(body.post.media), 'b c=C a=A');

  const edit = async (change: object) =>
    shown((await client.patch(`/posts/${body.post.id}`, change)).body.post.media);
  t.is(await edit({ body: 'y' }), 'b c=C a=A');
  t.is(await edit({ media: [{ url }, { media_id: a }] }), 'c a');
  t.is(await edit({ media_ids: [b, b], media_urls: [url, url] }), 'b c');
  t.is(await edit({ media: [{ media_id: a, alt_text: null }] }), 'a');
  t.is(await edit({ media: null }), '');
});

test('each part of a thread may have a list, with URLs in any part', async (t) => {
  const { a, b, url, shown, create } = await workspace(t);
  const { body } = await create({
    media: [{ media_id: a }],
    thread: ['One', { text: 'Two', media: [{ url, alt_text: 'C' }, { media_id: b }] }],
  });
  t.deepEqual(body.post.thread_media.map(shown), ['a', 'c=C b']);
});

test('channel_media gives a channel its own files, which an edit keeps, replaces or clears', async (t) => {
  const { client, a, b, url, mastodon, bluesky, shown, create } = await workspace(t);
  const own = { [bluesky]: [{ url }, { media_id: a, alt_text: 'A' }], [mastodon]: [] };
  const { body } = await create({
    media_ids: [b],
    media_urls: [url],
    channel_media: own,
    schedule_in_minutes: 60,
  });
  const files = (post: { channel_media: Record<string, File[]> }) =>
    Object.fromEntries(
      Object.entries(post.channel_media).map(([id, listed]) => [id, shown(listed)]),
    );
  t.is(shown(body.post.media), 'b c');
  t.deepEqual(files(body.post), { [bluesky]: 'c a=A', [mastodon]: '' });
  t.is((await client.delete(`/media/${a}`)).body.code, 'media_in_use');

  const edit = async (change: object) =>
    (await client.patch(`/posts/${body.post.id}`, change)).body.post;
  t.deepEqual(files(await edit({ media_ids: [] })), { [bluesky]: 'c a=A', [mastodon]: '' });
  t.deepEqual(files(await edit({ channel_media: { [mastodon]: [{ media_id: b }] } })), {
    [mastodon]: 'b',
  });
  t.deepEqual(files(await edit({ channel_media: null })), {});
  t.is((await client.delete(`/media/${a}`)).status, 200);
});

test('each channel is validated with its own files', async (t) => {
  const { client, a, b, mastodon, bluesky, create } = await workspace(t);
  const many = Array.from({ length: 5 }, (_, index) => index);
  const { punctual } = shared();
  const ids = await Promise.all(
    many.map((index) => storeMedia(punctual, client.workspaceId, { name: `${index}.png` })),
  );
  const five = ids.map((id) => ({ media_id: id }));
  const { status, body } = await create({
    media: [{ media_id: a }],
    channel_media: { [bluesky]: five },
    schedule_in_minutes: 60,
  });
  t.is(status, 400);
  t.deepEqual(
    body.details.map((fault: { path: string; channel_id: string }) => [
      fault.path,
      fault.channel_id,
    ]),
    [[`/channel_media/${bluesky}`, bluesky]],
  );
  const listed = await client.post('/posts/validate', { channel_ids: [mastodon], media: five });
  t.is(listed.body.channels[0].errors[0].path, '/media');
  const both = { channel_media: { [mastodon]: [{ media_id: b }], [bluesky]: [{ media_id: b }] } };
  t.is((await create({ ...both, media: five, schedule_in_minutes: 60 })).status, 201);
});

test('two ways to give the files of one part, and faulty items, are refused by name', async (t) => {
  const { a, b, url, mastodon, create } = await workspace(t);
  const media = [{ media_id: a }];
  const id = crypto.randomUUID();
  const refused: [body: object, path: string, message: RegExp][] = [
    [{ media, media_ids: [b] }, '/media', /\/media and \/media_ids/v],
    [{ media, media_urls: [url] }, '/media', /\/media and \/media_urls/v],
    [{ media, alt_texts: {} }, '/media', /\/media and \/alt_texts/v],
    [{ thread: [{ text: 'x', media }], media_urls: [url] }, '/thread/0/media', /\/media_urls/v],
    [{ thread: [{ text: 'x', media }], media }, '/media', /\/media and \/thread\/0\/media/v],
    [{ thread: ['x', { text: 'x', media, media_ids: [a] }] }, '/thread/1/media', /media_ids/v],
    [{ media: [{ media_id: a, url }] }, '/media/0', /either media_id or url/v],
    [{ media: [{ alt_text: 'x' }] }, '/media/0', /either media_id or url/v],
    [
      { media: [{ url }, ...media, { url }] },
      '/media/2',
      /same file as \/media\/0: send each file once/v,
    ],
    [
      { thread: ['x', { text: 'x', media: [...media, { media_id: a, alt_text: 'A' }] }] },
      '/thread/1/media/1',
      /once/v,
    ],
    [
      { channel_media: { [mastodon]: [...media, ...media] } },
      `/channel_media/${mastodon}/1`,
      /once/v,
    ],
    [{ media: [{ media_id: a, alt_text: ' ' }] }, '/media/0/alt_text', /must not be blank/v],
    [{ media: [{ media_id: id }] }, '/media/0', /No media file/v],
    [{ channel_media: { [mastodon]: [{ media_id: id }] } }, `/channel_media/${mastodon}/0`, /No /v],
    [{ channel_media: { [id]: media } }, `/channel_media/${id}`, /not among the post's channels/v],
    [{ media: [{ url: 'http://192.0.2.1/' }] }, '/media/0/url', /./v],
    [
      { media: Array.from({ length: 11 }, (_, index) => ({ url: `${url}?${index}` })) },
      '/media/10/url',
      /at most 10/v,
    ],
  ];
  for (const [body, path, message] of refused) {
    const reply = await create(body);
    t.is(reply.status, 400, path);
    t.is(reply.body.details[0].path, path);
    t.regex(reply.body.error, message);
  }
});
