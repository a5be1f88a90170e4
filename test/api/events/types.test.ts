import test from 'ava';
import type { PostView } from '../../../domain/post-view.ts';
import { status } from '../../support/answers.ts';
import { clockedChannel } from '../../support/claimed-posts.ts';
import type { Client } from '../../support/client.ts';
import { freshDatabase } from '../../support/database.ts';
import { fails, fakeNetwork } from '../../support/networks.ts';
import { poll } from '../../support/poll.ts';
import { fakeChannel } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';

const api = sharedWebhooks(test, { workers: true });

type Event = {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly post: PostView; readonly channel_id?: string };
};

const eventsOf = async (client: Client, post: string): Promise<Event[]> =>
  (await client.get(`/events?post_id=${post}`)).body.events;

const typesOf = async (client: Client, post: string): Promise<string[]> =>
  (await eventsOf(client, post)).map(({ type }) => type);

/** A workspace with two channels on a network. */
async function workspace() {
  const client = await api.newClient();
  const network = fakeNetwork();
  const channel = await fakeChannel(api.punctual, client.workspaceId, network);
  const schedule = async (more: object = {}): Promise<PostView> => {
    const fields = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 60, ...more };
    return (await client.post('/posts', fields)).body.post;
  };
  return { client, network, channel, schedule };
}

test('the event of a scheduled post has the post as its creation answers it', async (t) => {
  const { client, channel, schedule } = await workspace();
  const file = await storeMedia(api.punctual, client.workspaceId, { name: 'a.png' });
  const other = await storeMedia(api.punctual, client.workspaceId, { name: 'b.png' });
  const bodies = [
    {},
    {
      idempotency_key: 'k',
      channel_bodies: { [channel]: 'Own' },
      scheduled_at: '2027-01-01T00:00:00Z',
    },
    { body: 'Two files', media_ids: [file, other], alt_texts: { [file]: 'A cat' } },
    { body: undefined, thread: ['One', { text: 'Two', media_ids: [file] }] },
  ];
  for (const body of bodies) {
    const post = await schedule(body);
    const [event, ...others] = await eventsOf(client, post.id);
    t.deepEqual([event?.type, others], ['post.scheduled', []]);
    t.deepEqual(event?.data, { post });
  }

  t.is((await schedule(bodies[1])).channels[0]?.body, 'Own'); // Replayed.
  t.is((await client.get('/events')).body.events.length, bodies.length);
});

test('an edit that changes the time is an event, one of the text is not; a cancel and a removed time are another', async (t) => {
  const { client, channel } = await workspace();
  const draft = { body: 'Hello', channel_ids: [channel] };
  const { id } = (await client.post('/posts', draft)).body.post;
  const edit = async (fields: object): Promise<PostView> =>
    (await client.patch(`/posts/${id}`, fields)).body.post;
  await edit({ body: 'Still a draft' });
  t.deepEqual(await typesOf(client, id), []);
  const scheduled = await edit({ schedule_in_minutes: 60 });
  t.deepEqual((await eventsOf(client, id))[0]?.data, { post: scheduled });
  await edit({ body: 'Other words' });
  await edit({ scheduled_at: scheduled.scheduled_at });
  await edit({ schedule_in_minutes: 90 });
  await edit({ scheduled_at: null });
  await edit({ schedule_in_minutes: 90 });
  await client.post(`/posts/${id}/cancel`);

  t.deepEqual(await typesOf(client, id), [
    'post.scheduled',
    'post.scheduled',
    'post.cancelled',
    'post.scheduled',
    'post.cancelled',
  ]);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.deepEqual((await eventsOf(client, id)).at(-1)?.data, { post });
});

test('an endpoint for all events gets each of a post, signed as it can be read, and one for a type only this', async (t) => {
  const { client, network, channel, schedule } = await workspace();
  const [all, some] = [api.receiver(status(204)), api.receiver(status(204))];
  const made = await client.post('/webhooks', { url: all.url, events: ['post.failed', '*'] });
  t.deepEqual(made.body.webhook.events, ['*']);
  await client.post('/webhooks', { url: some.url, events: ['post.published'] });
  network.fates.push(fails('rate_limited', { retryAtMs: Date.now() }));
  const { id } = await schedule({ schedule_in_minutes: 0 });

  await client.finalPost(id);
  const events = await poll(
    () => eventsOf(client, id),
    ({ length }) => length === 3,
  );
  const types = ['post.scheduled', 'post.retrying', 'post.published'];
  t.deepEqual(
    events.map(({ type }) => type),
    types,
  );
  const { data } = events[1] ?? {};
  t.is(data?.channel_id, channel);
  t.like(data?.post.channels[0], { status: 'retrying', error_code: 'rate_limited' });
  await all.nth(3);
  await some.nth(1);
  for (const { id: event } of events) {
    const { body } = (await client.get(`/events/${event}`)).body.event;
    t.is(all.arrived.find(({ headers }) => headers['service-event-id'] === event)?.body, body);
  }

  const { deliveries } = (await client.get(`/webhooks/${made.body.webhook.id}`)).body;
  t.deepEqual(
    new Set(deliveries.map(({ post_id: post }: { post_id: string }) => post)),
    new Set([id]),
  );
  t.is(some.arrived.map(({ headers }) => headers['service-event-type']).join(), 'post.published');
});

test('a channel that retries is an event once for each problem, not for each attempt', async (t) => {
  const network = fakeNetwork();
  // A database of its own, because the workers of this file would publish the post too.
  const { url } = await freshDatabase(t);
  const { deps, pass, newPost } = await clockedChannel(t, network, url);
  const post = await newPost(['Hello']);
  const told = () =>
    deps.orm.em
      .fork()
      .execute<unknown[]>("select 1 from events where post_id = ? and type = 'post.retrying'", [
        post.postId,
      ]);
  const counts: number[] = [];
  for (const code of ['network_unavailable', 'network_unavailable', 'rate_limited'] as const) {
    network.fates.push(fails(code));
    t.like(await post.attempt(), { kind: 'again' });
    counts.push((await told()).length);
    pass(10 * 60_000);
  }

  t.deepEqual(counts, [1, 1, 2]);
});
