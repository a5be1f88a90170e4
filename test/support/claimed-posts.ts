import type { ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../activities/deps.ts';
import { publishChannel } from '../../activities/publish-channel/publish-channel.ts';
import type { ChannelOutcome } from '../../activities/publish-channel/record-failure.ts';
import { createLimits } from '../../activities/limits.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import { PostChannel } from '../../db/entities/post-channels.ts';
import { Post } from '../../db/entities/posts.ts';
import { createOrm } from '../../db/orm.ts';
import { activityDeps, attempt, clockStartMs, type Attempted } from './attempt.ts';
import { heldClock } from './database-clock.ts';
import type { Network } from '../../networks/network.ts';
import { addFakeChannel } from './seed.ts';
import { attachFiles, storeFile, type TestFile } from './seed-media.ts';
import { patience } from './database.ts';

/** A channel on a fake network, in its own workspace, with a clock that the test moves. */
export type ClockedChannel = {
  readonly deps: ActivityDeps;
  readonly workspaceId: string;
  readonly channelId: string;
  /** Moves the clock, in milliseconds. */
  readonly pass: (ms: number) => void;
  /** Creates and claims a post that is due now. @param channelId Another channel than this one. */
  readonly newPost: (
    texts: readonly string[],
    files?: readonly TestFile[],
    channelId?: string,
  ) => Promise<ClaimedPost>;
  /** Another worker on the same database. @param differently Dependencies that replace its own. */
  readonly newWorker: (differently?: Partial<ActivityDeps>) => ActivityDeps;
};

export type ClaimedPost = {
  readonly postId: string;
  /** Makes one attempt to publish it. @param by A worker other than the first one. */
  readonly attempt: (by?: ActivityDeps) => Promise<Attempted<ChannelOutcome>>;
  readonly row: () => Promise<PostChannel>;
};

/** @param databaseUrl A migrated database, which may be shared. */
export async function clockedChannel(
  t: ExecutionContext,
  network: Network,
  databaseUrl: string,
): Promise<ClockedChannel> {
  const clock = await heldClock(t, databaseUrl, clockStartMs);
  const deps = await activityDeps(t, { [network.id]: network }, clock);
  const workspaceId = await createWorkspace(deps.orm.em.fork(), 'Test');
  const channelId = await addFakeChannel(deps, workspaceId, network.id);
  return {
    deps,
    workspaceId,
    channelId,
    pass: clock.pass,
    newWorker: (differently = {}) => {
      const own = createOrm(clock.url, { poolSize: 5, ...patience });
      t.teardown(() => own.close());
      return { ...deps, orm: own, limits: createLimits(), ...differently };
    },
    newPost: async (texts, files = [], channel = channelId) => {
      const request = await storeClaimedPost(deps, workspaceId, channel, texts);
      const ids = [];
      for (const file of files) {
        ids.push(await storeFile(deps, workspaceId, file));
      }

      await attachFiles(deps, workspaceId, request.postId, ids);
      return {
        postId: request.postId,
        attempt: async (by = deps) => {
          await clock.caughtUp();
          return attempt(publishChannel, by, request);
        },
        row: () => deps.orm.em.fork().findOneOrFail(PostChannel, request.postChannelId),
      };
    },
  };
}

async function storeClaimedPost(
  { orm, now }: ActivityDeps,
  workspaceId: string,
  channelId: string,
  texts: readonly string[],
): Promise<Parameters<typeof publishChannel>[1]> {
  const em = orm.em.fork();
  const common = { workspaceId, warning: null, publishedAt: null };
  const post = em.create(Post, {
    ...common,
    body: texts[0] ?? null,
    thread: texts.length > 1 ? texts : null,
    scheduledAt: now(),
    status: 'publishing',
    retriedAt: null,
    video: null,
  });
  await em.flush();
  const channel = em.create(PostChannel, {
    ...common,
    postId: post.id,
    channelId,
    position: 0,
    body: null,
    status: 'scheduled',
    url: null,
    error: null,
    errorCode: null,
    retryAt: null,
    sentText: null,
    metrics: null,
    metricsUpdatedAt: null,
  });
  await em.flush();
  return { workspaceId, postId: post.id, postChannelId: channel.id };
}
