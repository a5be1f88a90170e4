import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { leaseMs } from '../../domain/metrics-schedule.ts';
import type { ActivityDeps } from '../deps.ts';

/** A post on a channel whose metrics are due. `id` is that of the row of `post_channels`. */
export type DueRow = {
  readonly id: string;
  readonly postId: string;
  readonly workspaceId: string;
  readonly channelId: string;
  /** The network's id of the post; for a thread, of its first part. */
  readonly remoteId: string;
  readonly publishedAt: Date;
  /** Its `next_metrics_at` since the claim. No other refresh reads it before this time. */
  readonly lease: Date;
};

type Claiming = {
  readonly platform: string;
  /** Shortest interval between reads of a post, in milliseconds; null if the network has no metrics. */
  readonly everyMs: number | null;
  readonly post: { readonly workspaceId: string; readonly postId: string } | null;
  /** Channels that are being read, which are skipped so that a large one does not take every slot. */
  readonly busyChannels: readonly string[];
};

const portion = 500;

/** Delays for a channel without access and for a network without metrics, in milliseconds. */
export const lostAccessDelayMs = 3_600_000;
const unreadableDelayMs = 24 * 3_600_000;

/** Clock skew allowed for the API process that requested the refresh, in milliseconds. */
const clockSkewMs = 5000;

type JudgedRow = DueRow & {
  readonly verdict: 'read' | 'never' | 'lost' | 'unreadable' | 'limited' | 'early';
};

/**
 * Claims due posts of a network across workspaces, the longest due first. Posts that cannot be read now are postponed
 * at once, so that they do not block others, and counted.
 */
export async function claimDue(
  { orm, now, limits }: Pick<ActivityDeps, 'orm' | 'now' | 'limits'>,
  { platform, everyMs, post, busyChannels }: Claiming,
): Promise<{ readonly rows: readonly DueRow[]; readonly postponed: number }> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  const announced = [...limits.announced.on(platform), ...limits.reads.on(platform)].filter(
    ([, untilMs]) => untilMs > nowMs,
  );
  const every = sql`${everyMs ?? 0}::float8 * interval '1 millisecond'`;
  const only =
    post === null
      ? sql``
      : sql`and pc.post_id = ${post.postId} and pc.workspace_id = ${post.workspaceId}`;
  // A new plan each time: the number of due rows varies from 0 to 100,000.
  const rows = await queryPlanned<JudgedRow>(
    orm.em.fork(),
    sql`with due as materialized (
        select pc.id, c.state <> 'connected' or c.disconnected_at is not null as is_lost,
          greatest(c.parked_until, (select max(until)
            from unnest(${announced.map(([key]) => key)}::text[], ${announced.map(([, untilMs]) => new Date(untilMs))}::timestamptz[])
              as announced (key, until)
            where announced.key in (c.id::text, c.base_url, ''))) as limited_until,
          coalesce(pc.metrics_updated_at, pc.published_at) + ${every} as early_until,
          (select pp.remote_id from post_parts pp where pp.post_channel_id = pc.id
            and pp.workspace_id = pc.workspace_id and pp.part = 0 and pp.state = 'sent'
            order by pp.run desc limit 1) as remote_id
        from post_channels pc
        join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
        where pc.next_metrics_at <= ${at(post === null ? 0 : clockSkewMs)} and c.platform = ${platform}
          and pc.channel_id <> all(${busyChannels}::uuid[]) ${only}
        order by pc.next_metrics_at limit ${sql.lit(portion)} for update of pc skip locked
      ), judged as (
        select due.*, case
            when due.remote_id is null or pc.status <> 'published' or pc.published_at is null then 'never'
            when due.is_lost and pc.published_at < ${at(0)}::timestamptz - interval '1 year' then 'never'
            when due.is_lost then 'lost'
            when ${everyMs === null}::boolean then 'unreadable'
            when due.limited_until > ${at(0)} then 'limited'
            when due.early_until > ${at(0)} then 'early'
            else 'read' end as verdict
        from due join post_channels pc on pc.id = due.id)
      update post_channels pc set next_metrics_at = case judged.verdict
          when 'lost' then ${at(lostAccessDelayMs)}::timestamptz when 'unreadable' then ${at(unreadableDelayMs)}::timestamptz
          when 'limited' then judged.limited_until when 'early' then judged.early_until
          when 'read' then ${at(leaseMs)}::timestamptz end
        from judged where pc.id = judged.id
        returning pc.id, pc.post_id as "postId", pc.workspace_id as "workspaceId", pc.channel_id as "channelId",
          judged.remote_id as "remoteId", pc.published_at as "publishedAt", judged.verdict,
          pc.next_metrics_at as lease`,
  );
  const due = rows.filter(({ verdict }) => verdict === 'read');
  return { rows: due, postponed: rows.length - due.length };
}

export type RescheduledRow = DueRow & { readonly nextAt: Date | null };

/** Sets the next read of claimed rows, unless it was changed since the claim. */
export async function rescheduleRows(em: Em, rows: readonly RescheduledRow[]): Promise<void> {
  if (rows.length > 0) {
    await query(
      em,
      sql`update post_channels pc set next_metrics_at = moved.next_at::timestamptz
        from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspaceId)}::uuid[],
          ${rows.map(({ nextAt }) => nextAt?.toISOString() ?? null)}::text[],
          ${rows.map(({ lease }) => lease)}::timestamptz[]) as moved (id, workspace_id, next_at, lease)
        where pc.id = moved.id and pc.workspace_id = moved.workspace_id and pc.next_metrics_at = moved.lease`,
    );
  }
}

export const rescheduleTo = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  rows: readonly DueRow[],
  nextAt: Date,
): Promise<void> =>
  rescheduleRows(
    orm.em.fork(),
    rows.map((row) => ({ ...row, nextAt })),
  );

type Payer = { readonly workspaceId: string; readonly platform: string };

/**
 * Takes reads from a network's budget of this month (UTC) before they are made. Reads may cost money whatever their
 * result, so only refused or unmade ones are returned. A workspace takes at most an equal share of the budget.
 *
 * @returns how many reads are granted: `wanted`, or the rest.
 */
export const reserveReads = (
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
  { workspaceId, platform }: Payer,
  readsPerMonth: number,
  wanted: number,
): Promise<number> =>
  orm.em.fork().transactional(async (em) => {
    const month = monthOf(now());
    // The update of a row that exists locks it.
    const [row] = await query(
      em,
      sql<{ reads: number }>`insert into metric_reads (platform, month, reads)
        values (${platform}, ${month}::date, 0)
        on conflict (platform, month) do update set reads = metric_reads.reads returning reads`,
    );
    const left = readsPerMonth - (row?.reads ?? 0);
    const own = await leftOfShare(em, { workspaceId, platform }, readsPerMonth, month);
    const granted = Math.max(0, Math.min(wanted, left, own));
    await query(
      em,
      sql`update metric_reads set reads = reads + ${granted}::int
        where platform = ${platform} and month = ${month}::date`,
    );
    return granted;
  });

/** The share is counted by the stored days of metrics, of which a paid read makes one. */
async function leftOfShare(
  em: Em,
  { workspaceId, platform }: Payer,
  readsPerMonth: number,
  month: string,
): Promise<number> {
  const [row] = await queryPlanned(
    em,
    sql<{ workspaces: number; own: number }>`
      select (select count(distinct workspace_id)::int from channels
          where platform = ${platform} and disconnected_at is null) as workspaces,
        (select count(*)::int from channels c
          join post_channels pc on pc.channel_id = c.id and pc.workspace_id = c.workspace_id
            and pc.metrics_updated_at >= ${month}::date
          join metric_days d on d.post_channel_id = pc.id and d.day >= ${month}::date
          where c.workspace_id = ${workspaceId} and c.platform = ${platform}) as own`,
  );
  const { workspaces = 1, own = 0 } = row ?? {};
  return Math.ceil(readsPerMonth / Math.max(1, workspaces)) - own;
}

export const giveBackReads = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  platform: string,
  at: Date,
  unmade: number,
): Promise<unknown> =>
  query(
    orm.em.fork(),
    sql`update metric_reads set reads = greatest(0, reads - ${unmade}::int)
      where platform = ${platform} and month = ${monthOf(at)}::date`,
  );

const monthOf = (at: Date): string => at.toISOString().slice(0, 8) + '01';

export function nextMonthAt(now: Date): Date {
  const firstMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new Date(firstMs + Math.floor(Math.random() * 24 * 3_600_000));
}
