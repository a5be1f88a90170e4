import { cancellationSignal } from '@temporalio/activity';
import { sql } from 'kysely';
import { isBeingRemoved, unpublishValues } from '../../db/channel-status.ts';
import { LimitedError } from '../../db/ledger/intents.ts';
import { sentPartsOf } from '../../db/ledger/entries.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { failureAdvice, type ChannelErrorCode } from '../../domain/channel-error.ts';
import { nextRemovalMs } from '../../domain/next-attempt.ts';
import type { UnpublishStatus } from '../../domain/statuses.ts';
import { NetworkError, type Network } from '../../networks/network.ts';
import { markAccessLost } from '../../services/channels/mark-access.ts';
import { isReconnected } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { classifyError, type PublishFailure } from '../publish-channel/failures.ts';
import { retryFailure } from '../publish-channel/publish-channel.ts';
import { askNetwork } from '../refresh-metrics/ask-network.ts';
import {
  loadRemoval,
  recordRemoved,
  recordRemovedPart,
  type Removal,
  type RemovalRequest,
} from './load-removal.ts';

/** In milliseconds, for all requests of one attempt. Below the activity's startToCloseTimeout. */
const attemptTimeoutMs = 4 * 60_000;

/** Delay after which a newer access is used, in milliseconds. */
const newAccessWaitMs = 1000;

export type RemovalOutcome = {
  /** `gone`: the post no longer has the channel. */
  readonly status: UnpublishStatus | 'gone';
  readonly code: ChannelErrorCode | null;
};

/**
 * Makes one attempt to remove a post from one channel, the newest part first. Safe to repeat at any point: deleting can
 * be repeated, and each attempt starts from the parts that are still live.
 *
 * @throws ApplicationFailure typed with the error code, with the delay until the next attempt.
 */
export async function unpublishChannel(
  deps: ActivityDeps,
  request: RemovalRequest,
): Promise<RemovalOutcome> {
  const removal = await loadRemoval(deps, request);
  if (!removal) {
    return { status: 'gone', code: null };
  }

  const { unpublish, platform, live } = removal;
  if (unpublish.status !== 'pending') {
    return { status: unpublish.status, code: unpublish.error_code };
  }

  const network = deps.networks[platform];
  if (!network?.remove) {
    return endUnsupported(deps, removal, 'This network lets no program remove posts.');
  }

  // A settled part has a URL and no id.
  if (live.length === 0 || live.some(({ sent }) => sent === null)) {
    const why = 'This service does not know the id of the post on the network.';
    return endUnsupported(deps, removal, why);
  }

  try {
    return await heartbeating(() => removeParts(deps, removal, network));
  } catch (error) {
    return endAttempt(deps, removal, error);
  }
}

/** @throws NetworkError @throws LimitedError @throws NewTokenError */
async function removeParts(
  deps: ActivityDeps,
  removal: Removal,
  { remove }: Network,
): Promise<RemovalOutcome> {
  const { live, limit, isDisconnected, unpublish } = removal;
  if (isDisconnected) {
    throw new NetworkError('disconnected', 'The account was disconnected.', { accepted: 'no' });
  }

  if (limit && limit.untilMs > deps.now().getTime()) {
    throw new LimitedError(limit);
  }

  const stopped = cancellationSignal();
  const requestedAtMs = Date.parse(unpublish.requested_at);
  const asking = { deps, stopped, askTimeoutMs: attemptTimeoutMs, requestedAtMs };
  return askNetwork(asking, removal, async (connection) => {
    const sent = sentPartsOf(live);
    let result: 'removed' | 'not_found' = 'not_found';
    for (const [index, part] of [...live.entries()].toReversed()) {
      result = (await remove?.(connection, sent.slice(0, index + 1))) ?? result;
      if (index > 0) {
        await recordRemovedPart(deps, removal, part);
      }
    }

    await recordRemoved(deps, removal, result);
    return { status: result, code: null };
  });
}

/** Stores why an attempt failed. @throws ApplicationFailure if another one follows. */
async function endAttempt(
  deps: ActivityDeps,
  removal: Removal,
  error: unknown,
): Promise<RemovalOutcome> {
  const failure = classifyError(deps, removal, error);
  const { code, message } = failure;
  const nextMs = await deps.orm.em.fork().transactional(async (em) => {
    const atMs = await nextAttemptMs(em, deps, removal, failure);
    const advice = atMs === null ? finalAdvice(code) : failureAdvice(code, atMs);
    await store(em, removal, atMs === null ? 'failed' : 'pending', `${message} ${advice}`, code);
    return atMs;
  });
  if (nextMs !== null) {
    throw retryFailure(deps, code, nextMs);
  }

  return { status: 'failed', code };
}

/** Also stores lost access, with its event. */
async function nextAttemptMs(
  em: Em,
  deps: ActivityDeps,
  removal: Removal,
  failure: PublishFailure,
): Promise<number | null> {
  const nowMs = deps.now().getTime();
  const { code, message, retryAtMs, hasNewAccess } = failure;
  if (hasNewAccess || (code === 'access_lost' && (await isReconnected(em, removal)))) {
    return nowMs + newAccessWaitMs;
  }

  if (code === 'access_lost') {
    await markAccessLost(em, deps, removal, `${message} Connect the channel again.`, 'outbox');
  }

  const requestedAtMs = Date.parse(removal.unpublish.requested_at);
  // Networks limit deletions apart from posts, so the limit is not stored: it would hold back posts of the channel.
  return nextRemovalMs({ code, retryAtMs }, requestedAtMs, nowMs);
}

async function endUnsupported(
  deps: ActivityDeps,
  removal: Removal,
  why: string,
): Promise<RemovalOutcome> {
  const where = removal.url === null ? '' : `: ${removal.url}`;
  const error = `${why} Delete it on the network${where}`;
  await store(deps.orm.em.fork(), removal, 'unsupported', error, null);
  return { status: 'unsupported', code: null };
}

/** Stores the state of a removal that has not ended. */
async function store(
  em: Em,
  { workspaceId, postChannelId, unpublish }: Removal,
  status: UnpublishStatus,
  error: string,
  code: ChannelErrorCode | null,
): Promise<void> {
  const values = unpublishValues({ ...unpublish, status, error, error_code: code });
  await query(
    em,
    sql`update post_channels pc set ${values}
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isBeingRemoved}`,
  );
}

function finalAdvice(code: ChannelErrorCode): string {
  if (code === 'access_lost' || code === 'disconnected') {
    return 'Connect the account again, then unpublish the post again.';
  }

  return code === 'permission_missing'
    ? 'Connect the account again with the permission to delete posts, then unpublish the post again.'
    : 'Unpublish the post again later, or delete it on the network.';
}
