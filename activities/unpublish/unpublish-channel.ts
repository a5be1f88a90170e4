import { cancellationSignal } from '@temporalio/activity';
import { sql } from 'kysely';
import { isBeingRemoved, unpublishValues } from '../../db/channel-status.ts';
import { LimitedError } from '../../db/ledger/intents.ts';
import { lastRun, readEntries, sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import { markRejected } from '../../db/ledger/outcomes.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import {
  failureAdvice,
  type ChannelErrorCode,
  type NetworkLimit,
} from '../../domain/channel-error.ts';
import { nextRemovalMs } from '../../domain/next-attempt.ts';
import type { Unpublish } from '../../domain/post-view.ts';
import type { UnpublishStatus } from '../../domain/statuses.ts';
import { NetworkError, type Network } from '../../networks/network.ts';
import { accountColumns, loseAccess, type ChannelAccount } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { classifyError, newAccessWaitMs } from '../publish-channel/failures.ts';
import { attemptTimeoutMs, retryFailure } from '../publish-channel/publish-channel.ts';
import { askNetwork } from '../refresh-metrics/ask-network.ts';
import type { UnpublishRequest } from './unpublish-request.ts';

export type RemovalRequest = UnpublishRequest & { readonly postChannelId: string };

type Removal = RemovalRequest &
  ChannelAccount & {
    readonly isDisconnected: boolean;
    readonly unpublish: Unpublish;
    readonly url: string | null;
    readonly parkedUntil: Date | null;
    /** The rate limit with the latest end, which may have passed. */
    readonly limit: NetworkLimit | null;
    readonly live: readonly LedgerEntry[];
  };

/** @returns null if the channel no longer exists. */
async function loadRemoval(
  { orm, limits }: ActivityDeps,
  request: RemovalRequest,
): Promise<Removal | null> {
  const { workspaceId, postId, postChannelId } = request;
  const em = orm.em.fork();
  const [row] = await query(
    em,
    sql<Omit<Removal, 'limit' | 'live' | keyof RemovalRequest>>`
      select ${accountColumns}, c.disconnected_at is not null as "isDisconnected", pc.unpublish, pc.url,
        c.parked_until as "parkedUntil"
      from post_channels pc
      join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where pc.id = ${postChannelId} and pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
        and pc.unpublish is not null`,
  );
  if (!row) {
    return null;
  }

  const entries = await readEntries(em, request, lastRun(request));
  return {
    ...request,
    ...row,
    limit: limits.announced.longest(row, row.parkedUntil),
    live: entries.filter(({ state }) => state === 'sent'),
  };
}

export type RemovalOutcome = {
  /** `gone`: the post no longer has the channel. */
  readonly status: UnpublishStatus | 'gone';
  readonly code: ChannelErrorCode | null;
};

/**
 * Makes one attempt to remove a post from one channel, the newest part first. Safe to repeat at any point.
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
        const { workspaceId, postChannelId } = removal;
        await query(deps.orm.em.fork(), markRejected(workspaceId, postChannelId, part, deps.now()));
      }
    }

    await recordRemoved(deps, removal, result);
    return { status: result, code: null };
  });
}

/** The URL and the last metrics stay as history; `gone_at` ends the reading of metrics. */
const recordRemoved = (
  { orm, now }: ActivityDeps,
  { workspaceId, postId, postChannelId, unpublish }: Removal,
  status: 'removed' | 'not_found',
): Promise<void> =>
  orm.em.fork().transactional(async (em) => {
    const end: Unpublish = { ...unpublish, status, error: null, error_code: null };
    await query(
      em,
      sql`select 1 from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
    );
    await query(
      em,
      sql`update post_channels pc set ${unpublishValues(end)}, next_metrics_at = null,
          error = pc.error || ' What was live has been removed since.',
          gone_at = case when pc.status = 'published' then coalesce(pc.gone_at, ${now()}) else pc.gone_at end
        where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isBeingRemoved}`,
    );
    await query(em, markRejected(workspaceId, postChannelId, { part: 0 }, now()));
  });

/** Stores why an attempt failed. @throws ApplicationFailure if another one follows. */
async function endAttempt(
  deps: ActivityDeps,
  removal: Removal,
  error: unknown,
): Promise<RemovalOutcome> {
  const failure = classifyError(deps, removal, error);
  const { code, message } = failure;
  const nextMs = await deps.orm.em.fork().transactional(async (em) => {
    const nowMs = deps.now().getTime();
    const isRenewed =
      failure.hasNewAccess ||
      (code === 'access_lost' && !(await loseAccess(em, deps, removal, message)));
    // Networks limit deletions apart from posts, so the limit is not stored: it would hold back posts of the channel.
    const atMs = isRenewed
      ? nowMs + newAccessWaitMs
      : nextRemovalMs(
          { code, retryAtMs: failure.retryAtMs },
          Date.parse(removal.unpublish.requested_at),
          nowMs,
        );
    const advice = atMs === null ? finalAdvice(code) : failureAdvice(code, atMs);
    await store(em, removal, atMs === null ? 'failed' : 'pending', `${message} ${advice}`, code);
    return atMs;
  });
  if (nextMs !== null) {
    throw retryFailure(deps, code, nextMs);
  }

  return { status: 'failed', code };
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
