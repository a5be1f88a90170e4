import test from 'ava';
import { purgeExpired } from '../../activities/sweep/sweep.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import { upload, filesOf, sweepLibrary } from '../support/media-library.ts';
import { picture } from '../support/media-files.ts';
import { sharedApi } from '../support/kit.ts';
import { storedRows } from '../support/stored-rows.ts';
import { fakeNetwork } from '../support/networks.ts';
import { endedPost, fakeChannel, storeChannel } from '../support/seed.ts';
import { storeDelivery, storeEvent } from '../support/seed-deliveries.ts';

// A purge covers all workspaces, so the tests run serially.
const api = sharedApi(test);

const count = async (table: string, workspaceId?: string): Promise<number> =>
  (await storedRows(api.punctual.orm, workspaceId))[table] ?? -1;

const daysAgo = (days: number): Date => new Date(Date.now() - days * 24 * 3_600_000);

test.serial(
  'posts, their sends, their keys and the files of the library stay for years',
  async (t) => {
    const { punctual } = api;
    const client = await api.newClient();
    const channel = await storeChannel(punctual, client.workspaceId);
    const bytes = await picture('png');
    const { id: media } = (await upload(punctual, client, { bytes })).body.media;
    await upload(punctual, client, { bytes });
    const post = { body: 'Kept', channel_ids: [channel], media_ids: [media] };
    const key = { 'idempotency-key': 'years ago' };
    const { id } = (await client.post('/posts', post, key)).body.post;
    await endedPost(punctual, client, new Map([[channel, 'published']]));
    const em = punctual.orm.em.fork();
    await em.execute(
      `insert into post_parts
       (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, created_at, updated_at)
     select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sent', '', '{}', now(), now()
     from post_channels where workspace_id = ?`,
      [client.workspaceId],
    );
    for (const table of ['posts', 'idempotency_keys', 'media_files', 'post_parts']) {
      await em.execute(`update ${table} set created_at = created_at - interval '5 years'`);
    }

    const before = await storedRows(punctual.orm, client.workspaceId);
    const files = await filesOf(punctual);
    await purgeExpired(punctual.deps);
    await sweepLibrary(punctual);

    t.deepEqual(await storedRows(punctual.orm, client.workspaceId), before);
    t.like(before, { posts: 2, idempotency_keys: 1, post_parts: 2, media_files: 2 });
    t.deepEqual(await filesOf(punctual), files);
    const again = await client.post('/posts', post, key);
    t.is(again.status, 200);
    t.is(again.body.post.id, id);
  },
);

test.serial('deliveries are kept as long as their setting says, with their events', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  await client.post('/webhooks', { url: 'https://8.8.8.8/hook', events: ['post.failed'] });
  for (const days of [1, 6, 8, 29, 31]) {
    await storeDelivery(punctual, client.workspaceId, 'delivered', daysAgo(days));
  }

  for (const [deliveries, left] of [
    [30, 4],
    [7, 2],
  ] as const) {
    await purgeExpired({ ...punctual.deps, retentionDays: { deliveries, metricDays: 730 } });
    t.deepEqual(
      [await count('deliveries'), await count('events', client.workspaceId)],
      [left, left],
    );
  }
});

test.serial(
  'a reader of events who was away for too long learns which are gone, also those that nobody had read',
  async (t) => {
    const { punctual } = api;
    const client = await api.newClient();
    const store = () => storeEvent(punctual, client.workspaceId, 'post.failed');
    await store();
    t.is((await client.get('/events')).body.next_after, 1);
    await store();
    await store();
    await purgeExpired({ ...punctual.deps, now: () => daysAgo(-31) });
    t.like((await client.get('/events?after=1&wait=20')).body, {
      events: [],
      next_after: 3,
      missed: { from: 2, to: 3 },
    });

    await store();
    const { missed, events } = (await client.get('/events?after=1')).body;
    t.deepEqual([missed, events[0].sequence], [{ from: 2, to: 3 }, 4]);
    t.is((await client.get('/events?after=3')).body.missed, null);
    t.is((await client.get('/events')).body.missed, null);
  },
);

test.serial('connect links are purged an hour after they expire', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  for (const minutes of [70, 50, -10]) {
    const { link } = (await client.post('/channels/connect', { platform: 'bluesky' })).body;
    await punctual.orm.em
      .fork()
      .execute(
        `update connect_links set expires_at = now() - make_interval(mins => ?) where token_hash = ?`,
        [minutes, sha256Hex(String(link).split('/').at(-1) ?? '')],
      );
  }

  await purgeExpired(punctual.deps);
  t.is((await storedRows(punctual.orm, client.workspaceId))['connect_links'], 2);
});

test.serial(
  'unused files are purged with their bytes after the configured days, and only those',
  async (t) => {
    const { punctual } = api;
    const client = await api.newClient();
    const bytes = await picture('png');
    const newFile = async (days: number): Promise<string> => {
      const { id } = (await upload(punctual, client, { bytes })).body.media;
      await punctual.orm.em
        .fork()
        .execute('update media_files set created_at = ? where id = ?', [daysAgo(days), id]);
      return id;
    };
    const [unused, young, inDraft, inPart, inDefaults, takenOff] = [
      await newFile(31),
      await newFile(29),
      await newFile(400),
      await newFile(400),
      await newFile(400),
      await newFile(31),
    ];
    await client.post('/posts', { body: 'x', media_ids: [inDraft] });
    await client.post('/posts', { thread: ['x', { text: 'y', media_ids: [inPart] }] });
    const channel = await fakeChannel(punctual, client.workspaceId, fakeNetwork());
    await client.patch(`/channels/${channel}`, { options: { cover: inDefaults } });
    const { id } = (await client.post('/posts', { body: 'x', media_ids: [takenOff] })).body.post;
    await client.patch(`/posts/${id}`, { media_ids: null });
    const listed = async (): Promise<string[]> =>
      (await client.get('/media')).body.media.map((file: { id: string }) => file.id).toSorted();

    await sweepLibrary(punctual);
    const kept = [young, inDraft, inPart, inDefaults];
    t.deepEqual(
      await listed(),
      [...kept, unused, takenOff].toSorted(),
      'only when a number of days is set',
    );

    await sweepLibrary(punctual, undefined, 30);
    t.deepEqual(await listed(), kept.toSorted());
    const files = await filesOf(punctual);
    t.false(files.includes(unused ?? '') || files.includes(takenOff ?? ''));
    t.true(kept.every((one) => files.includes(one ?? '')));
  },
);

test.serial('daily metrics are kept for two years, or as configured', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await storeChannel(punctual, client.workspaceId);
  const post = await endedPost(punctual, client, new Map([[channel, 'published']]));
  for (const days of [0, 9, 11, 729, 731, 800]) {
    await punctual.orm.em
      .fork()
      .execute(
        `insert into metric_days select id, (?::timestamptz at time zone 'UTC')::date, workspace_id, '{}' from post_channels where post_id = ?`,
        [daysAgo(days), post],
      );
  }

  await purgeExpired(punctual.deps);
  t.is(await count('metric_days'), 4);
  await purgeExpired({
    ...punctual.deps,
    retentionDays: { deliveries: 30, metricDays: 10 },
  });
  t.is(await count('metric_days'), 2);
});
