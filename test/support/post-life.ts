import { randomBytes } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { ExecutionContext } from 'ava';
import { claimPost, type Claim } from '../../activities/claim-post.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import { finalizePost } from '../../activities/finalize-post.ts';
import type { Finalized } from '../../activities/post-end.ts';
import {
  publishChannel,
  type ChannelOutcome,
} from '../../activities/publish-channel/publish-channel.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { cancelPost } from '../../api/posts/cancel-post.ts';
import { createPost } from '../../api/posts/create-post.ts';
import { editPost } from '../../api/posts/edit-post.ts';
import { retryPost } from '../../api/posts/retry-post.ts';
import { settlePost } from '../../api/posts/settle-post.ts';
import type { CreatePostBody, EditPostBody } from '../../api/posts/schemas.ts';
import { showPost } from '../../api/posts/show-post.ts';
import { createWorkspace } from '../../cli/create-workspace.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { Network } from '../../networks/network.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { createStorage } from '../../runtime/storage/create-storage.ts';
import type { PostToSync } from '../../temporal/sync-post.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { freshDatabase } from './database.ts';
import { heldClock, type HeldClock } from './database-clock.ts';
import { addFakeChannel } from './seed.ts';
import type { Tried } from './ledger-world.ts';
import { noWorkflows } from './no-workflows.ts';
import { testLog } from './temporal.ts';

// A failed try is what most of these tests are about; it is no news.
const logger = new DefaultLogger('ERROR');

/** A claim that found something to publish. */
export type Go = Claim & { readonly kind: 'go' };

/** Every step of a post's life as the API and the workers take it, and nobody between them: a test is their Temporal. */
export type PostLife = {
  readonly deps: ActivityDeps;
  readonly workspaceId: string;
  /** The channels' ids by the names of their networks. */
  readonly channels: Readonly<Record<string, string>>;
  /** What the API would have told Temporal, in order. */
  readonly told: PostToSync[];
  /** Moves the clock of all that follows. In milliseconds. */
  readonly pass: (ms: number) => void;
  /** @returns the post's id. */
  readonly create: (request: CreatePostBody) => Promise<string>;
  readonly edit: (post: string, request: EditPostBody) => Promise<void>;
  /** @returns how many channels are being sent. */
  readonly cancel: (post: string) => Promise<number>;
  readonly retry: (post: string) => Promise<string[]>;
  /** Somebody looked. @param url Where the post is; null when it is not there. */
  readonly settle: (post: string, channel: string, url: string | null) => Promise<void>;
  readonly show: (post: string) => Promise<PostView>;
  readonly claim: (post: string) => Promise<Claim>;
  /** One try of one channel. */
  readonly attempt: (post: string, postChannelId: string) => Promise<Tried>;
  /** @param claimed What the workflow had claimed. @param heard The highest revision that it knows of. */
  readonly finalize: (
    post: string,
    claimed: Go,
    how?: { readonly canceled?: boolean; readonly heard?: number },
  ) => Promise<Finalized>;
  /** The types of the post's events, in order. */
  readonly events: (post: string) => Promise<string[]>;
};

/** A workspace with a channel of each network, a real database, and a clock that the test moves. */
export async function postLife(
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  databaseUrl?: string,
): Promise<PostLife> {
  const told: PostToSync[] = [];
  const clock = await heldClock(
    t,
    databaseUrl ?? (await freshDatabase(t)).url,
    Date.parse('2026-05-01T12:00:00Z'),
  );
  const deps = await makeDeps(t, networks, clock);
  const tellTemporal = (message: PostToSync) => void told.push(message);
  const api = { ...deps, media: {}, rules: rulesOf(networks), tellTemporal };
  const apiDeps = { ...api, tellDelivery: () => undefined } as unknown as ApiDeps; // Without what only calls with files use.
  const workspaceId = await createWorkspace(deps.orm.em.fork(), 'Life');
  const caller = { workspaceId, plan: 'standard' };
  const channels: Record<string, string> = {};
  for (const name of Object.keys(networks)) {
    channels[name] = await addFakeChannel(deps, workspaceId, name);
  }

  return {
    deps,
    workspaceId,
    channels,
    told,
    pass: clock.pass,
    create: async (request) => (await createPost(apiDeps, caller, request, undefined)).postId,
    edit: (postId, request) => editPost(apiDeps, caller, postId, request),
    cancel: (postId) => cancelPost(apiDeps, { workspaceId, postId }),
    retry: (postId) => retryPost(apiDeps, caller, postId),
    settle: async (postId, channelId, url) => {
      await clock.caughtUp();
      await settlePost(apiDeps, { workspaceId, postId }, { channelId, url });
    },
    show: async (postId) => (await showPost(apiDeps, workspaceId, postId)).post,
    claim: (postId) => claimPost(deps, { workspaceId, postId, nowMs: clock.now().getTime() }),
    attempt: async (postId, postChannelId) => {
      await clock.caughtUp();
      return attempt(deps, { workspaceId, postId, postChannelId });
    },
    finalize: (postId, { revision: claimed }, { canceled = false, heard = claimed } = {}) =>
      finalizePost(deps, { workspaceId, postId, revision: heard, canceled, claimed }),
    events: async (postId) => {
      const sql = 'select type from events where post_id = ? order by id';
      const rows = await deps.orm.em.fork().execute<{ type: string }[]>(sql, [postId]);
      return rows.map(({ type }) => type);
    },
  };
}

async function makeDeps(
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  { orm, now }: HeldClock,
): Promise<ActivityDeps> {
  const egress = createEgress({ allow: [] });
  t.teardown(() => egress.close());
  const storage = createStorage({ mediaDir: await temporaryFolder(t), s3: null });
  const sealer = createSealer(randomBytes(32).toString('hex'));
  const publicUrl = 'https://punctual.example';
  const shared = { orm, sealer, networks, egress, storage, publicUrl, log: testLog, now };
  return { ...shared, workflows: noWorkflows };
}

const rulesOf = (networks: Readonly<Record<string, Network>>): ApiDeps['rules'] =>
  Object.fromEntries(Object.entries(networks).map(([name, { rules }]) => [name, rules]));

async function attempt(
  deps: ActivityDeps,
  request: Parameters<typeof publishChannel>[1],
): Promise<Tried> {
  try {
    const environment = new MockActivityEnvironment(undefined, { logger });
    const outcome: ChannelOutcome = await environment.run(publishChannel, deps, request);
    return { kind: 'done', ...outcome };
  } catch (error) {
    if (error instanceof ApplicationFailure && typeof error.nextRetryDelay === 'number') {
      return { kind: 'again', code: error.type ?? '', inMs: error.nextRetryDelay };
    }

    throw error;
  }
}
