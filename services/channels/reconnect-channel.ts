import type { Actor } from '../../db/audit.ts';
import { findLostPosts, type LostPosts } from '../../db/repositories/channels.ts';
import { Workspace } from '../../db/entities/workspaces.ts';
import type { Em } from '../../db/orm.ts';
import { maySendPosts } from '../../db/repositories/links.ts';
import { assertScope } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { lateSpacingMs } from '../../domain/pacing.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import { channelAccessOf } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { retryPost } from '../posts/retry-post.ts';
import { actorOf, type ConnectStep } from './connect-link.ts';
import { Problem } from './connect-problem.ts';
import { createConnectLink, networkName } from './create-link.ts';
import { findChannel, type FoundChannel } from './read-channels.ts';

export const maxRetriedPosts = 100;

/** How long after the failed attempt a retry is offered, in milliseconds. */
const offeredForMs = 24 * 3_600_000;

/**
 * Makes a link with which a person connects a channel's account again or, once it is connected, sends the posts again
 * that failed only because its access was lost.
 */
export async function reconnectChannel(
  deps: ServiceDeps,
  caller: Caller,
  { channelId, retries }: { readonly channelId: string; readonly retries: boolean },
) {
  const { workspaceId } = caller;
  const em = deps.orm.em.fork();
  const now = deps.now();
  const found = await findChannel(em, workspaceId, channelId);
  if (retries) {
    assertScope(caller, 'posts:publish');
    assertConnected(deps, found, now);
  }

  const lost = await lostPosts(em, workspaceId, channelId, now);
  const toSync = retries ? await retryLostPosts(deps, caller, channelId, lost) : [];
  const link = retries ? null : await linkTo(deps, caller, found);
  return { found, link, lost, toSync };
}

/** Returns null when this network cannot be connected in a browser here, only with tokens. */
async function linkTo(
  deps: ServiceDeps,
  caller: Caller,
  { channel: { id, platform } }: FoundChannel,
) {
  if (!(platform in deps.networks.oauth)) {
    return null;
  }

  try {
    const request = { platform, channelId: id, mostChannels: caller.quotas.channels };
    return await createConnectLink(deps, caller, request);
  } catch (error) {
    if (error instanceof AppError && error.code === 'network_not_configured') {
      return null;
    }

    throw error;
  }
}

function assertConnected(
  { networks }: Pick<ServiceDeps, 'networks'>,
  { channel: { state, platform, handle }, accessEndsAt }: FoundChannel,
  now: Date,
): void {
  if (channelAccessOf(state, accessEndsAt, now).state === 'needs_reconnect') {
    const message = `The account ${handle} on ${networkName(platform, networks.oauth[platform])} is not connected: connect it again, then retry its posts.`;
    throw new AppError('channel_not_connected', message);
  }
}

/** The posts that failed on this channel within the last day because its access was lost. */
const lostPosts = (em: Em, workspaceId: string, channelId: string, now: Date): Promise<LostPosts> =>
  findLostPosts(
    em,
    { workspaceId, channelId },
    new Date(now.getTime() - offeredForMs),
    maxRetriedPosts,
  );

/**
 * Sends the posts again to this channel only, spaced as overdue posts are. Skips a post that another call has retried,
 * or whose files were deleted.
 */
async function retryLostPosts(
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  caller: Actor & Pick<Caller, 'plan'>,
  channelId: string,
  { postIds }: LostPosts,
): Promise<PostToSync[]> {
  assertHasPlan(caller);
  const retried: PostToSync[] = [];
  const nowMs = deps.now().getTime();
  for (const postId of postIds) {
    const at = new Date(nowMs + retried.length * lateSpacingMs);
    try {
      const only = ['access_lost'] as const;
      const { toSync } = await retryPost(deps, caller, postId, { only, channelId, at });
      retried.push(toSync);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'nothing_to_retry')) {
        throw error;
      }
    }
  }

  return retried;
}

export async function countLostPosts(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  step: Pick<ConnectStep, 'link' | 'browser'>,
): Promise<number> {
  const em = orm.em.fork();
  const { workspaceId, connectedId } = step.link;
  const isOffered = connectedId !== null && (await maySend(em, step, now()));
  return isOffered ? (await lostPosts(em, workspaceId, connectedId, now())).count : 0;
}

/**
 * Retries those posts for the person who has just connected the account, until the link expires or its key may publish
 * no more. @throws Problem `used`
 */
export async function sendLostPosts(deps: ServiceDeps, step: ConnectStep): Promise<PostToSync[]> {
  const { link } = step;
  const { connectedId, workspaceId } = link;
  const em = deps.orm.em.fork();
  if (connectedId === null || !(await maySend(em, step, deps.now()))) {
    throw new Problem('used', 'This link has ended. Retry the posts in your own application.');
  }

  const found = await lostPosts(em, workspaceId, connectedId, deps.now());
  const workspace = await em.findOneOrFail(Workspace, { id: workspaceId });
  const caller = { ...actorOf(step), plan: workspace.plan };
  return retryLostPosts(deps, caller, connectedId, found);
}

const maySend = async (
  em: Em,
  { link, browser }: Pick<ConnectStep, 'link' | 'browser'>,
  now: Date,
): Promise<boolean> =>
  sha256Hex(browser) === link.browserHash && (await maySendPosts(em, link, now));
