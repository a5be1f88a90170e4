import { setTimeout as sleep } from 'node:timers/promises';
import { seedPosts, type SeededPost } from '../../bench/whole/seed-posts.ts';
import { createApiKey } from '../../cli/create-workspace.ts';
import { wakeBurst, wakeDelayMs, wakesPerSecond } from '../../domain/wake-time.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { clientFor } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { startedWith } from '../temporal/started-with.ts';

const test = needs('temporal');
const url = 'https://fake.example';

test('as many posts as a burst wake up at their time, and those beyond it one after the other', (t) => {
  t.is(wakeDelayMs(0), 0);
  t.is(wakeDelayMs(wakeBurst - 1), 0);
  t.is(wakeDelayMs(wakeBurst), Math.ceil(1000 / wakesPerSecond));
  t.is(wakeDelayMs(wakeBurst - 1 + 10 * wakesPerSecond), 10_000);
  t.true(wakeDelayMs(9999) < 180_000, 'ten thousand posts wake up within three minutes');
});

test('the timers of a workspace with hundreds of posts in one second are spread, and nobody else is', async (t) => {
  const punctual = await startApi(t);
  const { deps } = punctual;
  const dueMs = Math.ceil(Date.now() / 1000) * 1000 + 86_400_000;
  const plan = { name: 'many', platform: 'fake', networkUrl: url, channels: 1 };
  const crowd = Array.from({ length: wakeBurst + 60 }, () => dueMs);
  const seeded = await seedPosts(deps, plan, [...crowd, dueMs + 1000]);
  const [single] = await seedPosts(deps, { ...plan, name: 'single' }, [dueMs]);
  const many = seeded.filter(({ dueAtMs }) => dueAtMs === dueMs);
  const inOrder = many.toSorted((a, b) => (a.postId < b.postId ? -1 : 1));
  const nextSecond = seeded.find(({ dueAtMs }) => dueAtMs !== dueMs);

  const delayOf = async (post: SeededPost | undefined): Promise<number> =>
    (post ? await wakesAt(punctual, post) : Number.NaN) - (post?.dueAtMs ?? Number.NaN);
  t.is(await delayOf(inOrder.at(0)), 0);
  t.is(await delayOf(inOrder.at(wakeBurst - 1)), 0);
  t.is(await delayOf(inOrder.at(-1)), wakeDelayMs(wakeBurst + 59));
  t.is(await delayOf(single), 0, 'another workspace');
  t.is(await delayOf(nextSecond), 0, 'another second');

  const last = inOrder.at(-1);
  const key = await createApiKey(deps.orm.em.fork(), last?.workspaceId ?? '');
  const client = clientFor(punctual.url, last?.workspaceId ?? '', key);
  const { body } = await client.get(`/posts/${last?.postId}`);
  t.is(body.post.scheduled_at, new Date(dueMs).toISOString(), 'a user sees the time of the post');
});

/** Tells Temporal of a post. @returns until when its workflow sleeps, in milliseconds since 1970. */
async function wakesAt(punctual: Punctual, post: SeededPost): Promise<number> {
  const { workspaceId, postId, dueAtMs } = post;
  const dueAt = new Date(dueAtMs).toISOString();
  const row = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
  const tell = (): Promise<boolean> =>
    syncPost(punctual.temporal.client, punctual.orm.em.fork(), row).then(
      () => true,
      () => false,
    );
  while (!(await tell())) {
    await sleep(200); // Temporal is busy with other tests.
  }

  const [input] = (await startedWith(punctual, postId)).input as { dueAt: string }[];
  return Date.parse(input?.dueAt ?? '');
}
