import { parseArgs } from 'node:util';
import { paceOverdue, type OverduePost } from '../../activities/publish-channel/pacing.ts';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Em, type Orm } from '../../db/orm.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { startDatabase } from '../runner/processes.ts';
import { median, quantile } from '../runner/quantile.ts';
import { addChannels } from '../runner/seed-posts.ts';

/** The acceptable increase by many posts, in milliseconds. */
const targetMs = 2;

const [warmUp, rounds] = [50, 500];

/**
 * `npm run bench turns -- [--posts 10000]`: the time of the pacing check of an overdue post, which runs under its
 * channel's lock: in a channel with few posts, in one with many posts that are due within the year, and in one with a
 * thousand of those in a workspace with many overdue posts on another channel. Alternates the cases on one PostgreSQL
 * server.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = { posts: { type: 'string', default: '10000' } } as const;
    return { posts: count(parseArgs({ args: [...args], options }).values.posts) };
  },
  prepare: async ({ folder, stage }) => {
    const databaseUrl = await startDatabase(folder, stage);
    const orm = createOrm(databaseUrl, { poolSize: 2, queryTimeoutMs: 120_000 });
    await migrate(databaseUrl);
    return { orm };
  },
  measure,
  close: ({ orm }) => orm.close(),
};

type Plan = { readonly posts: number };
type World = { readonly orm: Orm };

async function measure(
  { orm }: World,
  { options: { posts }, stage: { say }, target }: Run<Plan>,
): Promise<void> {
  const cases = [
    await oneOf(orm, 'a channel with 10 posts', { ahead: 10, elsewhere: 0 }),
    await oneOf(orm, `one with ${posts}`, { ahead: posts, elsewhere: 0 }),
    await oneOf(orm, `one with 1000, and ${posts} late ones on another`, {
      ahead: 1000,
      elsewhere: posts,
    }),
  ];
  await orm.em.fork().execute('analyze');

  const deps = { orm, now: () => new Date() };
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const { late, tookMs } of cases) {
      const beganMs = performance.now();
      await paceOverdue(deps, late);
      if (round >= 0) {
        tookMs.push(performance.now() - beganMs);
      }
    }
  }

  say(`\nMilliseconds of ${rounds} checks each, alternating, including commits`);
  for (const { title, tookMs } of cases) {
    const [half, most] = [median(tookMs), quantile(tookMs, 0.99)].map((ms) => ms.toFixed(2));
    say(`  ${title}: half within ${half}, 99 of 100 within ${most}`);
  }

  const [few = Number.NaN, many = Number.NaN] = cases.map(({ tookMs }) => median(tookMs));
  const more = many - few;
  const what = `${posts} posts add ${more.toFixed(2)} ms; the target is ${targetMs}`;
  target(what, more <= targetMs);
}

const oneOf = async (orm: Orm, title: string, crowd: Crowd) => ({
  title,
  late: await seed(orm, crowd),
  tookMs: [] as number[],
});

type Crowd = {
  /** Posts of the same channel that are due within the year. */
  readonly ahead: number;
  /** Posts on another channel of the workspace that are overdue for longer. */
  readonly elsewhere: number;
};

/** Stores a workspace with these posts. @returns the only overdue post of the first channel. */
async function seed(orm: Orm, { ahead, elsewhere }: Crowd): Promise<OverduePost> {
  const em = orm.em.fork();
  const stores = { orm, sealer: createSealer('0'.repeat(64)) };
  const plan = {
    name: `crowd ${ahead} ${elsewhere}`,
    platform: 'mastodon',
    networkUrl: 'http://127.0.0.1:9',
    channels: 2,
  };
  const { workspaceId, channelIds } = await addChannels(stores, plan);
  const [channelId = '', otherId = ''] = channelIds;
  const year = `now() + interval '1 hour' + n * (interval '360 days' / ${ahead})`;
  await insert(em, { workspaceId, channelId, posts: ahead, at: year });
  await insert(em, {
    workspaceId,
    channelId: otherId,
    posts: elsewhere,
    at: `now() - interval '20 hours' + n * interval '1 millisecond'`,
  });
  const [row] = await insert(em, {
    workspaceId,
    channelId,
    posts: 1,
    at: `now() - interval '2 minutes'`,
  });
  if (!row) {
    throw new Error('The overdue post was not stored.');
  }

  const { post_id: postId, id: postChannelId, scheduled_at: dueAt } = row;
  return { workspaceId, channelId, postId, postChannelId, dueAt: new Date(dueAt) };
}

type Row = { readonly id: string; readonly post_id: string; readonly scheduled_at: string | Date };

type Rows = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly posts: number;
  /** SQL expression for the due time of post number `n`. */
  readonly at: string;
};

const insert = (em: Em, { workspaceId, channelId, posts, at }: Rows): Promise<Row[]> =>
  em.execute<Row[]>(
    `with new as (
       insert into posts (id, workspace_id, body, scheduled_at, status, synced_revision, created_at, updated_at)
       select uuidv7(), ?, 'Turn', ${at}, 'scheduled', 1, now(), now() from generate_series(1, ?) n
       returning id, workspace_id, scheduled_at),
     placed as (
       insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
       select uuidv7(), workspace_id, id, ?, 0, 'scheduled' from new returning id, post_id)
     select placed.*, new.scheduled_at from placed join new on new.id = placed.post_id`,
    [workspaceId, posts, channelId],
  );
