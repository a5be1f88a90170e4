import type { ExecutionContext } from 'ava';
import { claimPost, type Claim } from '../../activities/claim-post.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import { finalizePost, type Finalized } from '../../activities/finalize-post.ts';
import { publishChannel } from '../../activities/publish-channel/publish-channel.ts';
import type { ChannelOutcome } from '../../activities/publish-channel/record-failure.ts';
import type { ServiceDeps } from '../../services/deps.ts';
import { disconnectChannel } from '../../services/channels/disconnect-channel.ts';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import { createPost } from '../../services/posts/create-post.ts';
import { editPost } from '../../services/posts/edit-post.ts';
import { retryPost } from '../../services/posts/retry-post.ts';
import { settlePost } from '../../services/posts/settle-post.ts';
import {
  plainInput,
  withoutNulls,
  type CreatePostBody,
  type PostInput,
} from '../../services/posts/post-request.ts';
import { showPost } from '../../services/posts/read-posts.ts';
import { storeWorkspaceKey } from '../../services/workspaces/write-workspaces.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import { scopes } from '../../domain/api-keys.ts';
import type { PostStatus } from '../../domain/statuses.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { Network } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import { activityDeps, attempt, clockStartMs, type Attempted } from './attempt.ts';
import { heldClock } from './database-clock.ts';
import { usualQuotas } from './punctual.ts';
import { addFakeChannel } from './seed.ts';
import type { PostToSync } from '../../domain/to-sync.ts';

/** A claim that found channels to publish. */
export type Go = Claim & { readonly kind: 'go' };

/**
 * Every step that the API and the workers take with a post. The test calls them in the place of Temporal. Each has its
 * own workspace, with a channel on each network and a clock that the test moves.
 */
export type PostSteps = {
  readonly deps: ActivityDeps;
  readonly workspaceId: string;
  /** Channel ids by network name. */
  readonly channels: Readonly<Record<string, string>>;
  /** The messages that the API would have sent to Temporal, in order. */
  readonly messages: PostToSync[];
  /** Moves the clock, in milliseconds. */
  readonly pass: (ms: number) => void;
  /** @returns the post's id. */
  readonly create: (request: CreatePostBody) => Promise<string>;
  readonly edit: (post: string, request: PostInput) => Promise<void>;
  /** @returns the number of channels that are being sent. */
  readonly cancel: (post: string) => Promise<number>;
  readonly retry: (post: string) => Promise<string[]>;
  /** Disconnects the channel of a network, by its name. @returns the number of posts that are being sent there. */
  readonly disconnect: (network: string) => Promise<number>;
  /** Settles a channel, as a person does. @param url The post's; null when it is not live. */
  readonly settle: (post: string, channel: string, url: string | null) => Promise<void>;
  readonly show: (post: string) => Promise<PostView>;
  readonly claim: (post: string) => Promise<Claim>;
  /** Claims a post that is due. @throws Error when there is nothing to publish. */
  readonly claimOrThrow: (post: string) => Promise<Go>;
  /** Creates a post that is due, on all channels unless the request names some, and claims it. */
  readonly begin: (request: CreatePostBody) => Promise<{
    readonly post: string;
    readonly go: Go;
    /** Its first post channel. */ readonly id: string;
  }>;
  /** Makes one attempt to publish a post on one channel. */
  readonly attempt: (post: string, postChannelId: string) => Promise<Attempted<ChannelOutcome>>;
  /** Makes one attempt for each channel of a claim, one after the other. */
  readonly attemptAll: (post: string, claimed: Go) => Promise<void>;
  /** @param claimed The workflow's claim. @returns the post's status, too. */
  readonly finalize: (
    post: string,
    claimed: Go,
  ) => Promise<Finalized & { readonly status: PostStatus | undefined }>;
  /** Adds a webhook endpoint for these event types. */
  readonly subscribe: (...events: readonly string[]) => Promise<void>;
  /** The types of the events that ended the post or its removal, in order. */
  readonly events: (post: string) => Promise<string[]>;
};

/** @param databaseUrl A migrated database, which may be shared. */
export async function postSteps(
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  databaseUrl: string,
): Promise<PostSteps> {
  const clock = await heldClock(t, databaseUrl, clockStartMs);
  const deps = await activityDeps(t, networks, clock);
  const workspaceId = await createWorkspace(deps.orm.em.fork(), 'Test');
  const { key } = await storeWorkspaceKey(deps.orm.em.fork(), {}, workspaceId);
  const channels: Record<string, string> = {};
  for (const name of Object.keys(networks)) {
    channels[name] = await addFakeChannel(deps, workspaceId, name);
  }

  const messages: PostToSync[] = [];
  const attempts = {
    attempt: async (postId: string, postChannelId: string) => {
      await clock.caughtUp();
      return attempt(publishChannel, deps, { workspaceId, postId, postChannelId });
    },
    attemptAll: async (postId: string, { targets }: Go) => {
      for (const { postChannelId } of targets) {
        await attempts.attempt(postId, postChannelId);
      }
    },
  };
  const calls = apiCalls(deps, { workspaceId, keyId: key.id }, messages);
  const worker = workerSteps(deps, workspaceId);
  return {
    deps,
    workspaceId,
    channels,
    messages,
    pass: clock.pass,
    ...calls,
    ...worker,
    begin: async (request) => {
      const channel_ids = Object.values(channels);
      const post = await calls.create({ channel_ids, schedule_in_minutes: 0, ...request });
      const go = await worker.claimOrThrow(post);
      return { post, go, id: go.targets[0]?.postChannelId ?? '' };
    },
    ...webhooks(deps, workspaceId),
    ...attempts,
    disconnect: async (network) => {
      const channelId = channels[network] ?? '';
      const disconnected = await disconnectChannel(deps, { workspaceId, channelId });
      return disconnected.still_sending;
    },
    settle: async (...args) => {
      await clock.caughtUp();
      await calls.settle(...args);
    },
  };
}

type ApiCall = 'create' | 'edit' | 'cancel' | 'retry' | 'settle' | 'show';

/** The API's operations on posts of a workspace. */
function apiCalls(
  deps: ActivityDeps,
  key: { readonly workspaceId: string; readonly keyId: string },
  messages: PostToSync[],
): Pick<PostSteps, ApiCall> {
  const sync = (message: PostToSync | null): void => {
    if (message) {
      messages.push(message);
    }
  };
  // Without the dependencies of calls with files.
  const services = { ...deps, networks: openNetworks({}) } as unknown as ServiceDeps;
  const caller = { ...key, scopes, channelIds: null, plan: 'standard', quotas: usualQuotas };
  const { workspaceId } = key;
  return {
    create: async (request) => {
      const input = plainInput(withoutNulls(request));
      const { postId, toSync } = await createPost(services, caller, input, undefined);
      sync(toSync);
      return postId;
    },
    edit: async (postId, request) =>
      sync(await editPost(services, caller, postId, plainInput(request))),
    cancel: async (postId) => {
      const { stillSending, toSync } = await cancelPost(services, { workspaceId, postId });
      sync(toSync);
      return stillSending;
    },
    retry: async (postId) => {
      const { retrying, toSync } = await retryPost(services, caller, postId);
      sync(toSync);
      return retrying;
    },
    settle: async (postId, channelId, url) =>
      settlePost(services, { workspaceId, postId }, { channelId, url }),
    show: (postId) => showPost(services, caller, postId),
  };
}

/** The worker's steps before and after a post's attempts. */
function workerSteps(
  deps: ActivityDeps,
  workspaceId: string,
): Pick<PostSteps, 'claim' | 'claimOrThrow' | 'finalize'> {
  const claim = (postId: string): Promise<Claim> =>
    claimPost(deps, { workspaceId, postId, nowMs: deps.now().getTime(), revision: 1 });
  return {
    claim,
    claimOrThrow: async (postId) => {
      const claimed = await claim(postId);
      if (claimed.kind !== 'go') {
        throw new Error(`The claim said ${claimed.kind}.`);
      }

      return claimed;
    },
    finalize: async (postId, { revision }) => {
      const finalized = await finalizePost(deps, { workspaceId, postId, revision });
      if (finalized.end) {
        const status = finalized.end.outcome === 'published' ? 'published' : 'failed';
        return { ...finalized, status };
      }

      const [post] = await deps.orm.em
        .fork()
        .execute<{ status: PostStatus }[]>('select status from posts where id = ?', [postId]);
      return { ...finalized, status: post?.status };
    },
  };
}

function webhooks(
  { orm }: ActivityDeps,
  workspaceId: string,
): Pick<PostSteps, 'subscribe' | 'events'> {
  return {
    subscribe: async (...events) => {
      await orm.em.fork().execute(
        `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
         values (gen_random_uuid(), ?, 'https://example.com', ?::jsonb, 'x', 'x', now())`,
        [workspaceId, JSON.stringify(events)],
      );
    },
    events: async (postId) => {
      const sql =
        'select type from events where post_id = ? and (run is not null or type = ?) order by id';
      const rows = await orm.em
        .fork()
        .execute<{ type: string }[]>(sql, [postId, 'post.unpublished']);
      return rows.map(({ type }) => type);
    },
  };
}
