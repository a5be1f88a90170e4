import test, { type ExecutionContext } from 'ava';
import type { Claim } from '../../../activities/claim-post.ts';
import { newClient, type Client, type Reply } from '../../support/client.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { claim, wouldSend } from './claim.ts';
import { CloseFinish } from './close-finish.ts';
import { inRounds } from './rounds.ts';

type World = {
  readonly punctual: Punctual;
  readonly client: Client;
  readonly channels: readonly [string, string, string];
  readonly id: string;
};

/** A post that is due now: for two of three channels, with a text of its own for one. */
async function duePost(punctual: Punctual): Promise<World> {
  const client = await newClient(punctual);
  const store = (handle: string) => storeChannel(punctual, client.workspaceId, { handle });
  const [a, b, c] = [await store('@a@x.test'), await store('@b@x.test'), await store('@c@x.test')];
  const made = await client.post('/posts', {
    body: 'old words',
    channel_ids: [a, b],
    channel_bodies: { [a]: 'old words for a' },
    video: { title: 'old' },
    schedule_in_minutes: 0,
  });
  return { punctual, client, channels: [a, b, c], id: made.body.post.id };
}

/** All of the text fields at once, and other channels. */
const edit = ([, b, c]: World['channels']) => ({
  body: 'new words',
  channel_ids: [b, c],
  channel_bodies: { [c]: 'new words for c' },
  video: { title: 'new' },
});

const oldTexts = ([a, b]: World['channels']) => ({ [a]: ['old words for a'], [b]: ['old words'] });
const newTexts = ([, b, c]: World['channels']) => ({
  [b]: ['new words'],
  [c]: ['new words for c'],
});

/** Both runners, and what each saw. */
async function race(
  finish: CloseFinish,
  { punctual, client, id }: World,
  change: object,
): Promise<[Reply, Claim, Record<string, readonly string[]> | null]> {
  let sent: Record<string, readonly string[]> | null = null;
  const [patched, claimed] = await finish.run(
    () => client.patch(`/posts/${id}`, change),
    async () => {
      const made = await claim(punctual, client.workspaceId, id);
      // At once, while the PATCH may still be under way.
      sent = made.kind === 'go' ? await wouldSend(punctual, client.workspaceId, id, made) : null;
      return made;
    },
  );
  finish.finished(patched.status === 200 ? 'first' : 'second');
  return [patched, claimed, sent];
}

function mustBeRefused(t: ExecutionContext, patched: Reply): void {
  t.is(patched.status, 409, JSON.stringify(patched.body));
  t.is(patched.body.code, 'post_not_editable');
}

/** Otherwise one side won always, and nothing was raced. */
function bothWon(t: ExecutionContext, { won }: CloseFinish): void {
  t.log(`PATCH came first in ${won.first} rounds, publishing in ${won.second}`);
  t.true(won.first >= 10 && won.second >= 10, JSON.stringify(won));
}

test('a PATCH that meets the start of publishing is published whole or refused, never mixed with the old words', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const finish = new CloseFinish();
  await inRounds(async () => {
    const world = await duePost(punctual);
    const { client, channels, id } = world;

    const [patched, claimed, sent] = await race(finish, world, edit(channels));

    if (claimed.kind !== 'go') {
      t.fail(`the post was due, and the claim said ${claimed.kind}`);
      return;
    }

    const isNew = patched.status === 200;
    const texts = isNew ? newTexts(channels) : oldTexts(channels);
    t.deepEqual(sent, texts, `PATCH answered ${patched.status}`);
    t.deepEqual(await wouldSend(punctual, client.workspaceId, id, claimed), texts);
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.like(post, {
      status: 'publishing',
      body: isNew ? 'new words' : 'old words',
      video: { title: isNew ? 'new' : 'old' },
    });
    const shown = post.channels.map((one: { channel_id: string; body: string }) => [
      one.channel_id,
      [one.body],
    ]);
    t.deepEqual(Object.fromEntries(shown), texts);
    if (!isNew) {
      mustBeRefused(t, patched);
    }
  });
  bothWon(t, finish);
});

test('a PATCH to a later time that meets the start of publishing moves the post or is refused', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const finish = new CloseFinish();
  const later = new Date(Date.now() + 86_400_000).toISOString();
  await inRounds(async () => {
    const world = await duePost(punctual);
    const { client, channels, id } = world;

    const [patched, claimed, sent] = await race(finish, world, {
      ...edit(channels),
      scheduled_at: later,
    });

    const { post } = (await client.get(`/posts/${id}`)).body;
    if (patched.status === 200) {
      t.is(claimed.kind, 'not_due');
      t.like(claimed, { dueAt: later });
      t.like(post, { status: 'scheduled', scheduled_at: later, body: 'new words' });
    } else {
      mustBeRefused(t, patched);
      t.is(claimed.kind, 'go');
      t.deepEqual(sent, oldTexts(channels));
      t.like(post, { status: 'publishing', body: 'old words' });
      t.not(post.scheduled_at, later);
    }
  });
  bothWon(t, finish);
});

test('a PATCH to a draft that meets the start of publishing stops the post or is refused', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const finish = new CloseFinish();
  await inRounds(async () => {
    const world = await duePost(punctual);
    const { client, id } = world;

    const [patched, claimed] = await race(finish, world, { scheduled_at: null });

    const { post } = (await client.get(`/posts/${id}`)).body;
    if (patched.status === 200) {
      t.is(claimed.kind, 'gone');
      t.like(post, { status: 'draft', scheduled_at: null });
    } else {
      mustBeRefused(t, patched);
      t.is(claimed.kind, 'go');
      t.is(post.status, 'publishing');
    }
  });
  bothWon(t, finish);
});
