import { randomBytes } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../activities/deps.ts';
import {
  publishChannel,
  type ChannelOutcome,
} from '../../activities/publish-channel/publish-channel.ts';
import { createWorkspace } from '../../cli/create-workspace.ts';
import { PostChannel } from '../../db/entities/post-channel.ts';
import { Post } from '../../db/entities/post.ts';
import { createOrm } from '../../db/orm.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { createStorage } from '../../runtime/storage/create-storage.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { freshDatabase } from './database.ts';
import { heldClock } from './database-clock.ts';
import { addFakeChannel } from './seed.ts';
import type { FakeNetwork } from './networks.ts';
import { attachFiles, storeFile, type TestFile } from './seed-media.ts';
import { noWorkflows } from './no-workflows.ts';
import { testLog } from './temporal.ts';

// A failed try is what most of these tests are about; it is no news.
const logger = new DefaultLogger('ERROR');

const start = Date.parse('2026-05-01T12:00:00Z');

export type LedgerWorld = {
  readonly deps: ActivityDeps;
  readonly workspaceId: string;
  readonly channelId: string;
  /** Moves the clock of all that follows. */
  readonly pass: (ms: number) => void;
  /** A post that is due now and was claimed. @param channelId Where it goes, when not to the world's own channel. */
  readonly newPost: (
    texts: readonly string[],
    files?: readonly TestFile[],
    channelId?: string,
  ) => Promise<LedgerPost>;
  /** Another worker on the same database. @param differently What it is made of instead. */
  readonly newWorker: (differently?: Partial<ActivityDeps>) => ActivityDeps;
};

export type Tried =
  | { readonly kind: 'done'; readonly status: string; readonly deliveryIds: readonly string[] }
  | { readonly kind: 'again'; readonly code: string; readonly inMs: number };

export type LedgerPost = {
  readonly postId: string;
  /** Makes one try. @param by The worker, when not the world's own. */
  readonly attempt: (by?: ActivityDeps) => Promise<Tried>;
  readonly row: () => Promise<PostChannel>;
};

/** A channel on a fake network, a real database, and a clock that the test moves. */
export async function ledgerWorld(
  t: ExecutionContext,
  network: FakeNetwork,
  databaseUrl?: string,
): Promise<LedgerWorld> {
  const clock = await heldClock(t, databaseUrl ?? (await freshDatabase(t)).url, start);
  const { orm, now, pass } = clock;
  const sealer = createSealer(randomBytes(32).toString('hex'));
  const egress = createEgress({ allow: [] });
  t.teardown(() => egress.close());
  const publicUrl = 'https://punctual.example';
  const storage = createStorage({ mediaDir: await temporaryFolder(t), s3: null });
  const networks = { fake: network };
  const shared = { orm, sealer, egress, storage, now, publicUrl, log: testLog };
  const deps = { ...shared, networks, workflows: noWorkflows };
  const workspaceId = await createWorkspace(orm.em.fork(), 'Ledger');
  const channelId = await addFakeChannel(deps, workspaceId);
  return {
    deps,
    workspaceId,
    channelId,
    pass,
    newWorker: (differently = {}) => {
      const own = createOrm(clock.url, { poolSize: 5 });
      t.teardown(() => own.close());
      return { ...deps, orm: own, ...differently };
    },
    newPost: async (texts, files = [], channel = channelId) => {
      const made = await newPost(deps, workspaceId, channel, texts);
      const post: LedgerPost = {
        ...made,
        attempt: (by) => clock.caughtUp().then(() => made.attempt(by)),
      };
      const ids = [];
      for (const file of files) {
        ids.push(await storeFile(deps, workspaceId, file));
      }

      await attachFiles(deps, workspaceId, post.postId, ids);
      return post;
    },
  };
}

async function newPost(
  deps: ActivityDeps,
  workspaceId: string,
  channelId: string,
  texts: readonly string[],
): Promise<LedgerPost> {
  const em = deps.orm.em.fork();
  const common = { workspaceId, warning: null, publishedAt: null };
  const post = em.create(Post, {
    ...common,
    body: texts[0] ?? null,
    thread: texts.length > 1 ? texts : null,
    scheduledAt: deps.now(),
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
  const request = { workspaceId, postId: post.id, postChannelId: channel.id };
  return {
    postId: post.id,
    attempt: (by = deps) => attempt(by, request),
    row: () => deps.orm.em.fork().findOneOrFail(PostChannel, channel.id),
  };
}

async function attempt(
  deps: ActivityDeps,
  request: Parameters<typeof publishChannel>[1],
): Promise<Tried> {
  try {
    const outcome: ChannelOutcome = await new MockActivityEnvironment(undefined, { logger }).run(
      publishChannel,
      deps,
      request,
    );
    return { kind: 'done', ...outcome };
  } catch (error) {
    if (error instanceof ApplicationFailure && typeof error.nextRetryDelay === 'number') {
      return { kind: 'again', code: error.type ?? '', inMs: error.nextRetryDelay };
    }

    throw error;
  }
}
