import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

const year = new Date().getUTCFullYear() + 1;
const berlin = { scheduled_at: `${year}-07-01T09:00`, timezone: 'Europe/Berlin' };

async function workspace() {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const post = { body: 'Hello', channel_ids: [channel] };
  return { client, post };
}

test('a local time with a time zone schedules a post, which is shown in UTC with its zone', async (t) => {
  const { client, post } = await workspace();
  const { status, body } = await client.post('/posts', { ...post, ...berlin });
  t.is(status, 201);
  const shown = { scheduled_at: `${year}-07-01T07:00:00.000Z`, timezone: 'Europe/Berlin' };
  t.like(body.post, { status: 'scheduled', warning: null, ...shown });

  const edit = async (change: object) =>
    (await client.patch(`/posts/${body.post.id}`, change)).body.post;
  const moved = await edit({ timezone: 'Asia/Tokyo' });
  t.like(moved, { scheduled_at: `${year}-07-01T00:00:00.000Z`, timezone: 'Asia/Tokyo' });
  t.like(moved.warnings, [{ rule: 'local_time', path: '/timezone' }]);
  const [before, after] = [`${year}-07-01T07:00:00.000Z`, `${year}-07-01T00:00:00.000Z`];
  t.regex(moved.warning, RegExp(`T09:00:00 .* was due at ${before}, and is due at ${after}`, 'v'));
  t.like(await edit({ timezone: 'Europe/Berlin', body: 'Same local time' }), shown);
  t.like(await edit({ timezone: 'Europe/Berlin' }), { ...shown, warning: null });
  t.like(await edit({ scheduled_at: `${year}-07-01T09:00:00`, timezone: 'America/New_York' }), {
    scheduled_at: `${year}-07-01T13:00:00.000Z`,
    timezone: 'America/New_York',
  });
  t.like(await edit({ timezone: null }), {
    scheduled_at: `${year}-07-01T13:00:00.000Z`,
    timezone: null,
  });
});

test('a local time in an edit is one of the time zone of the post', async (t) => {
  const { client, post } = await workspace();
  const { id } = (await client.post('/posts', { ...post, ...berlin })).body.post;
  const edit = (change: object) => client.patch(`/posts/${id}`, change);
  const moved = (await edit({ scheduled_at: `${year}-07-02T10:00` })).body.post;
  const shown = { scheduled_at: `${year}-07-02T08:00:00.000Z`, timezone: 'Europe/Berlin' };
  t.like(moved, { ...shown, warning: null });
  const exact = { scheduled_at: `${year}-07-02T10:00Z` };
  t.is((await edit(exact)).body.post.warning, null);
  await edit({ timezone: null });
  t.is((await edit({ scheduled_at: berlin.scheduled_at })).body.code, 'invalid_scheduled_at');
});

test('a time zone alone that would move the time into the past is refused', async (t) => {
  const { client, post } = await workspace();
  const local = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  const { body } = await client.post('/posts', { ...post, scheduled_at: local, timezone: 'UTC' });
  const moved = await client.patch(`/posts/${body.post.id}`, { timezone: 'Asia/Tokyo' });
  t.is(moved.body.code, 'invalid_scheduled_at');
  t.is((await client.get(`/posts/${body.post.id}`)).body.post.timezone, 'UTC');
});

test('a repeated hour, an offset of another zone, a body beside a thread and a file twice get a warning', async (t) => {
  const { client, post } = await workspace();
  const file = await storeMedia(api.punctual, client.workspaceId);
  const sunday = `${year}-10-${31 - new Date(Date.UTC(year, 9, 31)).getUTCDay()}`;
  const cases: readonly (readonly [object, RegExp | null])[] = [
    [
      { ...berlin, scheduled_at: `${sunday}T02:30` },
      /twice: .* at the first time, .*T00:30:00\.000Z/v,
    ],
    [
      { ...berlin, scheduled_at: `${year}-01-01T10:00:00Z` },
      /show \d+-01-01T11:00:00\. Leave out Z/v,
    ],
    [{ ...berlin, scheduled_at: `${year}-01-01T10:00+01:00` }, null],
    [{ thread: ['One', 'Two'] }, /thread takes precedence/v],
    [{ media_ids: [file, file] }, /media_ids names a file more than once/v],
    [
      { thread: ['One', { text: 'Two', media_ids: [file, file] }] },
      /thread takes .* more than once/v,
    ],
  ];
  for (const [given, warning] of cases) {
    const whole = { ...post, ...given };
    const { id } = (await client.post('/posts', post)).body.post;
    for (const reply of [
      await client.post('/posts', whole),
      await client.post('/posts/validate', whole),
      await client.patch(`/posts/${id}`, whole),
    ]) {
      const { warning: shown } = reply.body.post ?? reply.body;
      t.true(warning ? warning.test(shown ?? '') : shown === null, `${shown}`);
      const { warnings } = reply.body.post ?? reply.body;
      const own = warnings.filter((one: { channel_id: unknown }) => one.channel_id === null);
      t.is(own.map(({ message }: { message: string }) => message).join(' ') || null, shown);
    }
  }
});

test('a local time without a zone and an unknown zone are refused, also by an edit', async (t) => {
  const { client, post } = await workspace();
  const { id } = (await client.post('/posts', { ...post, ...berlin })).body.post;
  const { scheduled_at: at } = berlin;
  for (const reply of [
    await client.post('/posts', { ...post, scheduled_at: at }),
    await client.post('/posts/validate', { ...post, scheduled_at: at }),
  ]) {
    t.is(reply.status, 400);
    t.is(reply.body.code, 'invalid_scheduled_at');
    t.regex(reply.body.error, /Z or an offset.*timezone/v);
  }

  for (const reply of [
    await client.post('/posts', { ...post, ...berlin, timezone: 'berlin' }),
    await client.post('/posts/validate', { ...post, timezone: 'berlin' }),
    await client.patch(`/posts/${id}`, { timezone: 'berlin' }),
  ]) {
    t.is(reply.status, 400);
    t.like(reply.body, { code: 'invalid_request', details: [{ path: '/timezone' }] });
    t.regex(reply.body.error, /such as Europe\/Berlin\.$/v);
  }
});
