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
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { createStorage } from '../../runtime/storage/create-storage.ts';
import { temporaryFolder } from '../scripts/temporary-folder.ts';
import { freshDatabase } from './database.ts';
import { addFakeChannel } from './fake-channel.ts';
import type { FakeNetwork } from './fake-network.ts';
import { attachFiles, storeFile, type TestFile } from './store-file.ts';
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
  /** A post that is due now and was claimed. @returns a function that makes one try. */
  readonly newPost: (texts: readonly string[], files?: readonly TestFile[]) => Promise<LedgerPost>;
};

export type Tried =
  | { readonly kind: 'done'; readonly status: string; readonly deliveryIds: readonly string[] }
  | { readonly kind: 'again'; readonly code: string; readonly inMs: number };

export type LedgerPost = {
  readonly postId: string;
  readonly attempt: () => Promise<Tried>;
  readonly row: () => Promise<PostChannel>;
};

/** A channel on a fake network, a real database, and a clock that the test moves. */
export async function ledgerWorld(t: ExecutionContext, network: FakeNetwork): Promise<LedgerWorld> {
  const { orm } = await freshDatabase(t);
  let nowMs = start;
  const sealer = createSealer(randomBytes(32).toString('hex'));
  const egress = createEgress({ allow: [] });
  t.teardown(() => egress.close());
  const now = (): Date => new Date(nowMs);
  const publicUrl = 'https://punctual.example';
  const storage = createStorage({ mediaDir: await temporaryFolder(t), s3: null });
  const networks = { fake: network };
  const deps = { orm, sealer, egress, storage, now, publicUrl, log: testLog, networks };
  const workspaceId = await createWorkspace(orm.em.fork(), 'Ledger');
  const channelId = await addFakeChannel(deps, workspaceId);
  return {
    deps,
    workspaceId,
    channelId,
    pass: (ms) => {
      nowMs += ms;
    },
    newPost: async (texts, files = []) => {
      const post = await newPost(deps, workspaceId, channelId, texts);
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
    status: 'publishing',
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
    attempt: () => attempt(deps, request),
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
