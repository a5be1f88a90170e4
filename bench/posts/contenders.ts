import type { Temporal } from '../../temporal/connect.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { postsQueue, publishQueue } from '../../workflows/messages.ts';
import { forEachOf } from '../runner/workflows.ts';
import { seedPosts } from './seed.ts';
import type { ShapeInput } from './shapes.ts';
import type { World } from './world.ts';

/** A measured system. */
export type Contender = {
  readonly name: 'punctual' | 'bare' | 'peer';
  /** The entry point of its worker. */
  readonly main: string;
  readonly workerEnv: (world: World) => Readonly<Record<string, string>>;
  /** Number of workflows for a post with this many channels. */
  readonly workflowsPerPost: (channels: number) => number;
  /** Starts the workflows of posts due at the same time. Resolves when Temporal has all of them. */
  readonly schedule: (world: World, temporal: Temporal, plan: SchedulePlan) => Promise<void>;
  /** @throws Error when a post that was due then is not published. */
  readonly assertDone: (world: World, plan: SchedulePlan) => Promise<void>;
};

type SchedulePlan = {
  readonly posts: number;
  readonly channels: number;
  readonly dueAt: Date;
};

const punctual: Contender = {
  name: 'punctual',
  main: 'worker/main.ts',
  workerEnv: ({ databaseUrl, secretKey, egressAllow, folder }) => ({
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: egressAllow,
    PUNCTUAL_MEDIA_DIR: `${folder}/media`,
  }),
  workflowsPerPost: () => 1,
  schedule: async ({ orm, sealer, accounts }, { client }, plan) => {
    const posts = await seedPosts(orm, sealer, { ...plan, accounts });
    await forEachOf(posts, (post) => syncPost(client, orm.em.fork(), post));
  },
  assertDone: async ({ orm }, { posts, channels, dueAt }) => {
    const [row] = await orm.em.fork().execute<{ live: number; events: number }[]>(
      `select count(*)::int as live, count(distinct e.id)::int as events
       from posts p
       join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
       join events e on e.post_id = p.id and e.workspace_id = p.workspace_id
       where p.scheduled_at = ? and p.status = 'published' and pc.status = 'published' and pc.url is not null`,
      [dueAt],
    );
    if (row?.live !== posts * channels || row.events !== posts) {
      throw new Error(`Of ${posts} posts with ${channels} channels: ${JSON.stringify(row)}.`);
    }
  },
};

const bare: Contender = {
  name: 'bare',
  main: 'bench/posts/bare-worker.ts',
  workerEnv: ({ accounts }) => ({ BENCH_ACCOUNTS: JSON.stringify(accounts) }),
  workflowsPerPost: () => 1,
  schedule: (world, temporal, plan) =>
    startEach(temporal, 'barePost', inputs(world, plan), takesTurns),
  // Ended workflows are all there is to check.
  assertDone: () => Promise.resolve(),
};

const peer: Contender = {
  ...bare,
  name: 'peer',
  workflowsPerPost: (channels) => channels,
  schedule: (world, temporal, plan) =>
    startEach(
      temporal,
      'peerPost',
      inputs(world, plan).flatMap(({ dueAtMs, sends }) =>
        sends.map((channel) => ({ dueAtMs, sends: [channel] })),
      ),
    ),
};

export const contenders: readonly Contender[] = [bare, punctual, peer];

/**
 * Each of our posts has the fairness key of its workspace, here one workspace per post. Without a key, Temporal would
 * dispatch the bare workflow's tasks in order of arrival, all channels of a post in a row: another pattern, with fewer
 * events, in which one workspace's post waits behind another's thousands.
 */
const takesTurns = (workflowId: string) => ({ priority: { fairnessKey: workflowId } });

const startEach = (
  { client }: Temporal,
  shape: string,
  inputs: readonly ShapeInput[],
  optionsOf: (workflowId: string) => object = () => ({}),
): Promise<void> => {
  const starts = inputs.map((input) => ({ input, workflowId: `post-${crypto.randomUUID()}` }));
  return forEachOf(starts, ({ input, workflowId }) =>
    client.workflow.start(shape, {
      taskQueue: postsQueue,
      workflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [input],
      ...optionsOf(workflowId),
    }),
  );
};

/** The same accounts as those of Punctual's posts (`seed.ts`). */
const inputs = ({ accounts }: World, { posts, channels, dueAt }: SchedulePlan): ShapeInput[] =>
  Array.from({ length: posts }, (_post, index) => ({
    dueAtMs: dueAt.getTime(),
    sends: Array.from({ length: channels }, (_channel, position) => {
      const account = (index + position) % accounts.length;
      return { queue: publishQueue(accounts[account]?.platform ?? ''), account };
    }),
  }));
