import test, { type ExecutionContext } from 'ava';
import { claimPost, type Claim } from '../../../activities/claim-post.ts';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { loadJob, type PublishJob } from '../../../activities/publish-channel/job.ts';
import { attempt } from '../../support/attempt.ts';
import type { Client, Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork, type FakeNetwork } from '../../support/networks.ts';
import { fakeChannel, storeChannel } from '../../support/seed.ts';
import { CloseFinish, inRounds } from './race.ts';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { markSending, newEntry, SupersededError } from '../../../db/ledger/intents.ts';

/** Commits the first intent to send a job. @returns false if the post has changed since it was read. */
async function beginsToSend(
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
  job: PublishJob,
): Promise<boolean> {
  const { options, run, postChannelId } = job;
  const step = job.texts.map((text, part) => {
    const key = `${postChannelId}-${part}`;
    return newEntry(run, { part, text, key, media: [], options, data: null });
  });
  try {
    await markSending(orm.em.fork(), job, { step, remaining: step, isFirst: true }, now());
    return true;
  } catch (error) {
    if (error instanceof SupersededError) {
      return false;
    }

    throw error;
  }
}

const api = sharedApi(test);

/** Claims a due post as its workflow does. */
const claim = (workspaceId: string, postId: string): Promise<Claim> =>
  claimPost(api.punctual.deps, { workspaceId, postId, nowMs: Date.now(), revision: 1 });

/** Claims the post and publishes it on all its channels at once, as the workflow does. */
async function publishAll(workspaceId: string, postId: string): Promise<void> {
  const claimed = await claim(workspaceId, postId);
  const targets = claimed.kind === 'go' ? claimed.targets : [];
  const publish = (postChannelId: string) =>
    attempt(publishChannel, api.punctual.deps, { workspaceId, postId, postChannelId });
  // Temporal repeats an attempt whose intent came after the cancel.
  await Promise.allSettled(targets.map(({ postChannelId }) => publish(postChannelId)));
}

const channelCount = 3;

/** A workspace with three channels on this network. */
async function workspaceOn(network: FakeNetwork) {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channels: string[] = [];
  for (let n = 0; n < channelCount; n += 1) {
    channels.push(await fakeChannel(api.punctual, workspaceId, network));
  }

  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 0 };
  const postNow = async (): Promise<string> => (await client.post('/posts', post)).body.post.id;
  return { client, workspaceId, postNow };
}

type Shown = { readonly channel_id: string; readonly status: string; readonly body: string };

const channelsOf = async (client: Client, id: string): Promise<readonly Shown[]> =>
  (await client.get(`/posts/${id}`)).body.post.channels;

const how = (channels: readonly Shown[], status: string): number =>
  channels.filter((channel) => channel.status === status).length;

test('a cancel counts exactly the channels that are in the middle of a send, and they finish', async (t) => {
  const finish = new CloseFinish();
  const counted = new Set<number>();
  const network = fakeNetwork();
  const { send } = network;
  let answered = Promise.resolve();
  network.send = (...args) => answered.then(() => send(...args));
  await inRounds(
    t,
    () => workspaceOn(network),
    async ({ client, workspaceId, postNow }) => {
      const id = await postNow();
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      answered = promise;

      const [canceled] = await finish.run(
        async () => {
          const reply = await client.post(`/posts/${id}/cancel`);
          answer(); // No send ends before the cancel is answered.
          return reply;
        },
        () => publishAll(workspaceId, id),
      );

      t.is(canceled.status, 200, JSON.stringify(canceled.body));
      const channels = await channelsOf(client, id);
      const stillSending: number = canceled.body.still_sending;
      t.is(how(channels, 'published'), stillSending);
      t.is(how(channels, 'draft'), channelCount - stillSending);
      counted.add(stillSending);
      finish.finished(stillSending === 0 ? 'first' : 'second');
    },
    { lanes: 1 },
  );
  t.log(`still_sending was ${[...counted].toSorted().join(', ')}`);
  finish.mustHaveMet(t, 'the cancel', 'publishing');
});

test('a cancel while channels finish stops those that have not begun, and the post ends with their outcomes', async (t) => {
  const network = fakeNetwork();
  const finish = new CloseFinish();
  const counted = new Set<number>();
  let published = 0;
  const prepare = () => workspaceOn(network);
  await inRounds(t, prepare, async ({ client, workspaceId, postNow }) => {
    const id = await postNow();

    const [canceled] = await finish.run(
      () => client.post(`/posts/${id}/cancel`),
      () => publishAll(workspaceId, id),
    );

    const channels = await channelsOf(client, id);
    const out = how(channels, 'published');
    published += out;
    t.is(out + how(channels, 'draft'), channelCount, JSON.stringify(channels));
    if (canceled.status === 409) {
      t.is(canceled.body.code, 'post_not_cancellable');
      t.is(out, channelCount, 'a cancel is refused only when every channel is final');
      finish.finished('second');
    } else {
      t.is(canceled.status, 200, JSON.stringify(canceled.body));
      const stillSending: number = canceled.body.still_sending;
      counted.add(stillSending);
      // Channels that finished before the cancel are no longer sending.
      t.true(stillSending <= out, JSON.stringify({ stillSending, channels }));
      finish.finished(out === 0 ? 'first' : 'second');
    }

    await finalizePost(api.punctual.deps, { workspaceId, postId: id, revision: 1 });
    const { status } = (await client.get(`/posts/${id}`)).body.post;
    t.is(status, out === channelCount ? 'published' : 'draft');
  });
  t.is(network.live.length, published, 'the live posts match the channels');
  t.is(new Set(network.live.map(({ key }) => key)).size, published, 'no post was published twice');
  t.log(`still_sending was ${[...counted].toSorted().join(', ')}; ${published} channels got it`);
  t.true(counted.has(0) && published > 0);
});

async function threeChannels() {
  const client = await api.newClient();
  const store = (handle: string) => storeChannel(api.punctual, client.workspaceId, { handle });
  return { client, channels: [await store('@a'), await store('@b'), await store('@c')] as const };
}

type Workspace = Awaited<ReturnType<typeof threeChannels>>;
type Channels = Workspace['channels'];
type DuePost = Workspace & { readonly id: string };

/** A due post for two of three channels, with an own text for one. */
async function duePost({ client, channels }: Workspace): Promise<DuePost> {
  const [a, b] = channels;
  const made = await client.post('/posts', {
    body: 'old words',
    channel_ids: [a, b],
    channel_bodies: { [a]: 'old words for a' },
    video: { title: 'old' },
    schedule_in_minutes: 0,
  });
  return { client, channels, id: made.body.post.id };
}

/** An edit of all text fields and of the channels. */
const edit = ([, b, c]: Channels) => ({
  body: 'new words',
  channel_ids: [b, c],
  channel_bodies: { [c]: 'new words for c' },
  video: { title: 'new' },
});

type Texts = Readonly<Record<string, readonly string[]>>;

const oldTexts = ([a, b]: Channels): Texts => ({ [a]: ['old words for a'], [b]: ['old words'] });
const newTexts = ([, b, c]: Channels): Texts => ({ [b]: ['new words'], [c]: ['new words for c'] });

/** The texts by channel that a worker with this claim would send. Null without a claim. */
async function wouldSend({ client, id }: DuePost, claimed: Claim): Promise<Texts | null> {
  if (claimed.kind !== 'go') {
    return null;
  }

  const sent: Record<string, readonly string[]> = {};
  for (const { postChannelId, channelId } of claimed.targets) {
    const request = { workspaceId: client.workspaceId, postId: id, postChannelId };
    const job = await loadJob(api.punctual.deps, request);
    sent[channelId] = job && (await beginsToSend(api.punctual.deps, job)) ? job.texts : [];
  }

  return sent;
}

/** Both results: the PATCH's response, and the claim with the texts that it would send. */
async function race(
  finish: CloseFinish,
  post: DuePost,
  change: object,
): Promise<[Reply, Claim, Texts | null]> {
  const [patched, [claimed, sent]] = await finish.run(
    () => post.client.patch(`/posts/${post.id}`, change),
    async () => {
      const made = await claim(post.client.workspaceId, post.id);
      // Immediately, while the PATCH may still be running.
      return [made, await wouldSend(post, made)] as const;
    },
  );
  finish.finished(patched.status === 200 ? 'first' : 'second');
  return [patched, claimed, sent];
}

function mustBeRefused(t: ExecutionContext, patched: Reply): void {
  t.is(patched.status, 409, JSON.stringify(patched.body));
  t.is(patched.body.code, 'post_not_editable');
}

test('a PATCH during the claim is published completely or refused, never mixed with the old text', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, threeChannels, async (lane) => {
    const due = await duePost(lane);
    const { client, channels, id } = due;

    const [patched, claimed, sent] = await race(finish, due, edit(channels));

    t.is(claimed.kind, 'go', 'the post was due');
    const isNew = patched.status === 200;
    const texts = isNew ? newTexts(channels) : oldTexts(channels);
    t.deepEqual(sent, texts, `PATCH answered ${patched.status}`);
    const { post } = (await client.get(`/posts/${id}`)).body;
    const [body, title] = isNew ? ['new words', 'new'] : ['old words', 'old'];
    t.like(post, { status: 'publishing', body, video: { title } });
    const shown = post.channels.map((one: Shown) => [one.channel_id, [one.body]]);
    t.deepEqual(Object.fromEntries(shown), texts);
    if (!isNew) {
      mustBeRefused(t, patched);
    }
  });
  finish.mustHaveMet(t, 'PATCH', 'publishing');
});

test('a PATCH to a later time during the claim moves the post or is refused', async (t) => {
  const finish = new CloseFinish();
  const later = new Date(Date.now() + 86_400_000).toISOString();
  await inRounds(t, threeChannels, async (lane) => {
    const due = await duePost(lane);
    const { client, channels, id } = due;

    const change = { ...edit(channels), scheduled_at: later };
    const [patched, claimed, sent] = await race(finish, due, change);

    const { post } = (await client.get(`/posts/${id}`)).body;
    if (patched.status === 200) {
      t.like(claimed, { kind: 'not_due', dueAt: later });
      t.like(post, { status: 'scheduled', scheduled_at: later, body: 'new words' });
    } else {
      mustBeRefused(t, patched);
      t.is(claimed.kind, 'go');
      t.deepEqual(sent, oldTexts(channels));
      t.like(post, { status: 'publishing', body: 'old words' });
      t.not(post.scheduled_at, later);
    }
  });
  finish.mustHaveMet(t, 'PATCH', 'publishing');
});
