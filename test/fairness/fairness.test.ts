import { setTimeout as sleep } from 'node:timers/promises';
import { type SeededPost, seedPosts, syncPosts } from '../../bench/runner/seed-posts.ts';
import { createApiKey } from '../../cli/admin/workspaces.ts';
import { wakeBurst, wakeDelayMs, wakesPerSecond } from '../../domain/pacing.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { clientFor } from '../support/client.ts';
import { sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';

const test = needs('temporal');

/** The posts of one bulk upload for the same minute; more than a workspace may send at once. */
const crowd = 60;

/** The concurrent sends of a workspace to a network; a worker has slots for four workspaces. */
const slots = 45;

const network = fakeNetwork();
/** The workspaces of the sent posts, in the order in which the sends began. */
const began: string[] = [];
const released = Promise.withResolvers<void>();
const { send } = network;
network.send = async (...args) => {
  began.push(args[1].parts[0]?.text.split(' ')[0] ?? '');
  await released.promise;
  return send(...args);
};
const api = sharedPunctual(test, { networks: { fake: network } });
const plan = { platform: 'fake', networkUrl: 'https://fake.example' };

test('the post of one workspace does not wait until the many posts of three others have gone out', async (t) => {
  t.timeout(300_000);
  const { orm, deps, temporal } = api.punctual;
  const seed = async (name: string, count: number): Promise<readonly SeededPost[]> => {
    const posts = await seedPosts(
      deps,
      { ...plan, name, channels: 30 },
      Array.from({ length: count }, () => Date.now()),
    );
    // A server for each channel, because one server accepts only a few posts at a time.
    await orm.em
      .fork()
      .execute(
        `update channels set base_url = 'https://' || id || '.example' where workspace_id = ?`,
        [posts[0]?.workspaceId],
      );
    await syncPosts(temporal.client, orm, posts);
    return posts;
  };
  const publishing = async (posts: readonly SeededPost[]): Promise<number> => {
    const sql = `select id from posts where workspace_id = ? and status = 'publishing'`;
    return (await orm.em.fork().execute<unknown[]>(sql, [posts[0]?.workspaceId])).length;
  };
  const many = [await seed('many', crowd), await seed('many', crowd), await seed('many', crowd)];
  await poll(
    async () => [began.length, ...(await Promise.all(many.map(publishing)))],
    ([sending = 0, ...claimed]) =>
      sending >= 3 * slots && claimed.every((count) => count === crowd),
    150_000,
  );
  await seed('single', 1);
  await poll(async () => began.includes('single'), Boolean, 150_000);
  // Attempts that begin at the same moment do not see each other, so it may be a few more than the slots.
  t.true(began.filter((name) => name === 'many').length < 3 * crowd);
  released.resolve();
});

test('a burst of posts wakes up on time, and the posts beyond it one after the other', (t) => {
  t.is(wakeDelayMs(0), 0);
  t.is(wakeDelayMs(wakeBurst - 1), 0);
  t.is(wakeDelayMs(wakeBurst), Math.ceil(1000 / wakesPerSecond));
  t.is(wakeDelayMs(wakeBurst - 1 + 10 * wakesPerSecond), 10_000);
  t.true(wakeDelayMs(9999) < 270_000, 'ten thousand posts wake up within four and a half minutes');
});

test('the timers of a workspace with hundreds of posts in one second are spread, and others are not', async (t) => {
  const { deps, url } = api.punctual;
  const dueMs = Math.ceil(Date.now() / 1000) * 1000 + 86_400_000;
  const sleepers = { ...plan, name: 'sleepers', channels: 1 };
  const together = Array.from({ length: wakeBurst + 60 }, () => dueMs);
  const seeded = await seedPosts(deps, sleepers, [...together, dueMs + 1000]);
  const [other] = await seedPosts(deps, { ...sleepers, name: 'other' }, [dueMs]);
  const inOrder = seeded
    .filter(({ dueAtMs }) => dueAtMs === dueMs)
    .toSorted((a, b) => (a.postId < b.postId ? -1 : 1));
  const nextSecond = seeded.find(({ dueAtMs }) => dueAtMs !== dueMs);

  const delayOf = async (post: SeededPost | undefined): Promise<number> =>
    (post ? await wakesAt(post) : Number.NaN) - (post?.dueAtMs ?? Number.NaN);
  t.is(await delayOf(inOrder.at(0)), 0);
  t.is(await delayOf(inOrder.at(wakeBurst - 1)), 0);
  t.is(await delayOf(inOrder.at(-1)), wakeDelayMs(wakeBurst + 59));
  t.is(await delayOf(other), 0, 'another workspace');
  t.is(await delayOf(nextSecond), 0, 'another second');

  const last = inOrder.at(-1);
  const key = await createApiKey(deps.orm.em.fork(), last?.workspaceId ?? '');
  const client = clientFor(url, last?.workspaceId ?? '', key);
  const { body } = await client.get(`/posts/${last?.postId}`);
  t.is(body.post.scheduled_at, new Date(dueMs).toISOString(), 'users see the due time of the post');
});

/** Syncs a post. @returns when its workflow wakes up, in milliseconds since 1970. */
async function wakesAt({ workspaceId, postId, dueAtMs }: SeededPost): Promise<number> {
  const { orm, temporal } = api.punctual;
  const dueAt = new Date(dueAtMs).toISOString();
  const row = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
  const tell = (): Promise<boolean> =>
    syncPost(temporal.client, orm.em.fork(), row).then(
      () => true,
      () => false,
    );
  while (!(await tell())) {
    await sleep(200); // Other tests keep Temporal busy.
  }

  const history = await temporal.client.workflow.getHandle(postWorkflowId(postId)).fetchHistory();
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const [payload] = started?.input?.payloads ?? [];
  const input = JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8')) as { dueAt: string };
  return Date.parse(input.dueAt);
}
