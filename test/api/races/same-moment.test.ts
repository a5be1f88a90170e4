import test from 'ava';
import { clientFor } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { CloseFinish, inRounds } from './race.ts';

const api = sharedApi(test);

const clientCount = 20;

test('20 concurrent requests with one idempotency key create one post, in each round', async (t) => {
  await inRounds(
    t,
    async () => {
      const { workspaceId, key } = await api.newClient();
      return { workspaceId, key, channel: await storeChannel(api.punctual, workspaceId), made: 0 };
    },
    async (lane, round) => {
      const { workspaceId, key, channel } = lane;
      const once = `once in round ${round}`;
      const post = {
        body: `Round ${round}`,
        channel_ids: [channel],
        // Half of them are drafts, which use another code path.
        ...(round % 2 === 0 ? { schedule_in_minutes: 60 } : {}),
      };
      const replies = await Promise.all(
        Array.from({ length: clientCount }, (_, n) => {
          const client = clientFor(api.punctual.url, workspaceId, key);
          // The same key by header and by body.
          return n % 2 === 0
            ? client.post('/posts', post, { 'idempotency-key': once })
            : client.post('/posts', { ...post, idempotency_key: once });
        }),
      );

      const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
      t.deepEqual(statuses, [...Array.from({ length: clientCount - 1 }, () => 200), 201]);
      t.is(new Set(replies.map(({ body }) => body.post.id)).size, 1);
      const replayed = replies.filter(({ headers }) => headers.has('idempotency-replayed'));
      t.is(replayed.length, clientCount - 1);
      t.true(replayed.every(({ status }) => status === 200));
      const rows = await storedRows(api.punctual.orm, workspaceId);
      lane.made += 1;
      const { made } = lane;
      t.like(rows, { posts: made, post_channels: made, idempotency_keys: made });
    },
    { lanes: 2 },
  );
});

const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

test('the slot of a deleted endpoint is used once, also with concurrent registrations', async (t) => {
  const client = await api.newClient();
  for (let n = 0; n < 10; n += 1) {
    t.is((await client.post('/webhooks', hook)).status, 201);
  }

  const { id } = (await client.get('/webhooks')).body.webhooks[0];
  t.is((await client.delete(`/webhooks/${id}`)).status, 200);
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => client.post('/webhooks', hook)),
  );

  t.is(replies.filter(({ status }) => status === 201).length, 1);
  t.is((await client.get('/webhooks')).body.webhooks.length, 10);
});

test('a reader sees a post before or after an edit, never half of it', async (t) => {
  const client = await api.newClient();
  const channels: string[] = [];
  for (const handle of ['@a@x.test', '@b@x.test']) {
    channels.push(await storeChannel(api.punctual, client.workspaceId, { handle }));
  }

  const version = (word: string, channel: string | undefined) => ({
    body: word,
    channel_ids: [channel],
    channel_bodies: { [String(channel)]: `${word} here` },
    video: { title: word },
  });
  const versions = [version('old', channels[0]), version('new', channels[1])];
  const wholes = new Set(
    versions.map(({ body }, n) => [body, body, `${body} here`, channels[n]].join()),
  );
  const seen = new Set<string>();
  const ours = async () => client;
  await inRounds(t, ours, async (_, round) => {
    const { id } = (await client.post('/posts', versions[0])).body.post;
    const read = () => Promise.all([1, 2, 3, 4].map(() => client.get(`/posts/${id}`)));
    const edit = { isDone: false };
    const editing = client.patch(`/posts/${id}`, versions[1]).then(() => (edit.isDone = true));
    const replies = await read();
    while (!edit.isDone) {
      replies.push(...(await read()));
    }

    await editing;
    replies.push(...(await read()));
    for (const { body } of replies) {
      const { post } = body;
      const [channel] = post.channels;
      const shown = [post.body, post.video.title, channel.body, channel.channel_id].join();
      t.true(wholes.has(shown), `round ${round}: ${shown}`);
      seen.add(post.body);
    }
  });
  t.deepEqual([...seen].toSorted(), ['new', 'old']);
});

type Ended = { readonly run: number; readonly events: number };

/** A workspace with two channels. */
async function twoChannels() {
  const client = await api.newClient();
  const store = () => storeChannel(api.punctual, client.workspaceId);
  return { client, channels: [await store(), await store()] as const };
}

/** The run of a post, and the number of its events. */
async function ended(postId: string): Promise<Ended | undefined> {
  const sql = `select run, (select count(*)::int from events e where e.post_id = p.id and e.run is not null) as events
               from posts p where id = ?`;
  return (await api.punctual.orm.em.fork().execute<Ended[]>(sql, [postId]))[0];
}

test('of two concurrent retries one is accepted and the other refused, in each round', async (t) => {
  await inRounds(t, twoChannels, async ({ client, channels: [failed, out] }, round) => {
    const outcomes = new Map([[failed, 'failed'] as const, [out, 'published'] as const]);
    // Every other round has no published channel.
    const isPartial = round % 2 === 0;
    const id = await endedPost(
      api.punctual,
      client,
      isPartial ? outcomes : new Map([[failed, 'failed']]),
    );

    const replies = await Promise.all([1, 2].map(() => client.post(`/posts/${id}/retry`)));

    const [taken, refused] = replies.toSorted((a, b) => a.status - b.status);
    t.is(taken?.status, 202, JSON.stringify(taken?.body));
    t.like(taken?.body, { id, retrying: [failed] });
    t.is(refused?.status, 409, JSON.stringify(refused?.body));
    t.is(refused?.body.code, 'nothing_to_retry');
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.is(post.status, 'publishing');
    t.is(post.summary.pending, 1);
    t.is(post.summary.published, isPartial ? 1 : 0);
    t.is((await ended(id))?.run, 2);
  });
});

/** A post that failed on one channel and is unconfirmed on the other. */
async function doubtfulPost({ client, channels }: Awaited<ReturnType<typeof twoChannels>>) {
  const [failed, unconfirmed] = channels;
  const outcomes = new Map([[failed, 'failed'] as const, [unconfirmed, 'unconfirmed'] as const]);
  const id = await endedPost(api.punctual, client, outcomes);
  const settle = (url: string | null) =>
    client.post(`/posts/${id}/settle`, { channel_id: unconfirmed, url });
  // Each post has its own URL.
  const there = `https://social.test/@ana/${id}`;
  return { client, id, failed, unconfirmed, settle, there };
}

test('of two different concurrent answers the later one corrects the other, with an event each', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, twoChannels, async (lane) => {
    const { client, id, settle, there } = await doubtfulPost(lane);

    const [found, absent] = await finish.run(
      () => settle(there),
      () => settle(null),
    );

    t.deepEqual([found.status, absent.status], [200, 200], JSON.stringify(absent.body));
    const { post } = (await client.get(`/posts/${id}`)).body;
    const isFoundLast = post.summary.published === 1;
    finish.finished(isFoundLast ? 'second' : 'first');
    t.like(post, { status: 'failed', summary: { published: isFoundLast ? 1 : 0 } });
    t.deepEqual(await ended(id), { run: 3, events: 2 });
  });
  finish.mustHaveMet(t, '"it is there"', '"it is not there"');
});

test('two equal concurrent answers are applied once, and both succeed', async (t) => {
  await inRounds(t, twoChannels, async (lane, round) => {
    const { id, settle, there } = await doubtfulPost(lane);
    const answer = round % 2 === 0 ? there : null;
    const replies = await Promise.all([settle(answer), settle(answer)]);
    t.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    );
    t.deepEqual(replies[0]?.body, replies[1]?.body);
    t.deepEqual(await ended(id), { run: 2, events: 1 });
  });
});

test('a retry during "it is not there" sends the channel too, or leaves it to the next retry', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, twoChannels, async (lane) => {
    const { client, id, failed, unconfirmed, settle } = await doubtfulPost(lane);

    const [settled, retried] = await finish.run(
      () => settle(null),
      () => client.post(`/posts/${id}/retry`),
    );

    t.deepEqual([settled.status, retried.status], [200, 202], JSON.stringify(settled.body));
    const isFirst = retried.body.retrying.length === 2;
    finish.finished(isFirst ? 'first' : 'second');
    const sent = isFirst ? [failed, unconfirmed] : [failed];
    t.deepEqual(new Set(retried.body.retrying), new Set(sent));
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.like(post, { status: 'publishing', summary: { pending: sent.length } });
    // The end before the retry is an event; the next end is still to come.
    t.deepEqual(await ended(id), isFirst ? { run: 3, events: 1 } : { run: 2, events: 0 });
  });
  finish.mustHaveMet(t, 'the settling', 'the retry');
});
