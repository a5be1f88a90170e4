import { sql } from 'kysely';
import { lastRun, readEntries, type LedgerEntry } from '../../db/ledger/entries.ts';
import { markRejected } from '../../db/ledger/outcomes.ts';
import { isBeingRemoved, unpublishValues } from '../../db/channel-status.ts';
import { query } from '../../db/query.ts';
import type { NetworkLimit } from '../../domain/channel-error.ts';
import type { Unpublish } from '../../domain/post-view.ts';
import { accountColumns, type ChannelAccount } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import type { UnpublishRequest } from './unpublish-request.ts';

export type RemovalRequest = UnpublishRequest & { readonly postChannelId: string };

/** The removal of a post from one channel. Each attempt reads it again. */
export type Removal = RemovalRequest &
  ChannelAccount & {
    readonly isDisconnected: boolean;
    readonly unpublish: Unpublish;
    readonly url: string | null;
    /** The rate limit with the latest end, which may have passed. */
    readonly limit: NetworkLimit | null;
    /** The live parts, in order. */
    readonly live: readonly LedgerEntry[];
  };

type Row = Omit<Removal, 'postId' | 'postChannelId' | 'limit' | 'live'> & {
  readonly parkedUntil: Date | null;
};

/** @returns null if the channel no longer exists. */
export async function loadRemoval(
  { orm, limits }: Pick<ActivityDeps, 'orm' | 'limits'>,
  request: RemovalRequest,
): Promise<Removal | null> {
  const { workspaceId, postId, postChannelId } = request;
  const em = orm.em.fork();
  const [row] = await query(
    em,
    sql<Row>`
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
  const { parkedUntil, ...removal } = row;
  return {
    ...request,
    ...removal,
    limit: limits.announced.longest(removal, parkedUntil),
    live: entries.filter(({ state }) => state === 'sent'),
  };
}

/** Records that the network does not have a part and the later ones any more. */
export const recordRemovedPart = (
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
  { workspaceId, postChannelId }: Removal,
  part: LedgerEntry,
): Promise<unknown> =>
  query(orm.em.fork(), sql`${markRejected(workspaceId, postChannelId, part, now())}`);

/**
 * Records the end of a removal, with the first part. The URL and the last metrics stay as history; `gone_at` ends the
 * reading of metrics.
 */
export const recordRemoved = (
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
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
    await query(em, sql`${markRejected(workspaceId, postChannelId, { part: 0 }, now())}`);
  });
