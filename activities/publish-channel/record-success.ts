import { sql } from 'kysely';
import { publishedValues } from '../../db/channel-status.ts';
import { refinalizePost, refinalizeCancelled } from '../../db/refinalize-post.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { sentText } from '../../db/ledger/live-parts.ts';
import { markSent } from '../../db/ledger/marks.ts';
import { query } from '../../db/query.ts';
import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { closeCircuit, releaseServerSlotSql } from './server-slots.ts';

/** Published parts of a thread. */
export type Live = {
  readonly sent: readonly SentPart[];
  /** Entries of those that the ledger does not mark as sent yet. */
  readonly last: readonly LedgerEntry[];
};

/**
 * Marks the channel as published and its last parts as sent, in one statement. A crash before it only makes the next
 * attempt reconcile. A thread's URL is that of its first part. The sent text comes from the ledger, since the post may
 * have been edited between the send and its reconcile.
 *
 * If a worker was silent for so long that the post ended without this, the post is refinalized with a second final
 * event.
 */
export async function recordSuccess(
  deps: ActivityDeps,
  job: PublishJob,
  live: Live,
): Promise<void> {
  const now = deps.now();
  if (!(await recordInTime(deps, job, live, now))) {
    await recordLate(deps, job, live, now);
  }
}

/** New values of the post and its channel. Both paths lock the post first, as all code does, to avoid deadlocks. */
const publishedPost = (now: Date) =>
  sql`published_at = coalesce(published_at, ${now}), updated_at = ${now}`;
const publishedChannel = (now: Date, { sent: [first, ...more], last }: Live) => {
  const text = last.find(({ part }) => part === 0)?.text ?? null;
  const warnings = new Set([first, ...more].flatMap((part) => part?.warning ?? []));
  return sql`${publishedValues(now)}, url = ${first?.url ?? null}, sent_text = coalesce(${text}::text, ${sentText}),
    sent_warning = ${[...warnings].join(' ') || null}`;
};

/**
 * Stores the result while the post is publishing, and always releases the slot at the server.
 *
 * @returns false if the post is no longer publishing.
 */
async function recordInTime(
  deps: ActivityDeps,
  job: PublishJob,
  live: Live,
  now: Date,
): Promise<boolean> {
  const { workspaceId, postId, postChannelId } = job;
  const [recorded] = await query(
    deps.orm.em.fork(),
    sql<{ channels: number }>`
      with post as (
        update posts set ${publishedPost(now)}
        where id = ${postId} and workspace_id = ${workspaceId} and status = 'publishing' returning id),
      channel as (
        update post_channels pc set ${publishedChannel(now, live)}
        from post where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and pc.post_id = post.id
        returning pc.id),
      live as (${markSent(workspaceId, live.last, now)}),
      slot as (${releaseServerSlotSql(job, true)}),
      circuit as (${closeCircuit(job)})
      select count(*)::int as channels from channel`,
  );
  return recorded?.channels === 1;
}

async function recordLate(
  deps: ActivityDeps,
  { workspaceId, postId, postChannelId }: PublishJob,
  live: Live,
  now: Date,
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const [post] = await query(
      em,
      sql<{ status: string }>`
        update posts set ${publishedPost(now)}
        where id = ${postId} and workspace_id = ${workspaceId} returning status`,
    );
    const [was] = await query(
      em,
      sql<{ status: string }>`
        update post_channels pc set ${publishedChannel(now, live)}
        from (select id, status from post_channels
          where id = ${postChannelId} and workspace_id = ${workspaceId} for update) was
        where pc.id = was.id and pc.workspace_id = ${workspaceId} returning was.status`,
    );
    const hasEnded = post?.status === 'failed' || post?.status === 'published';
    const scope = { workspaceId, postId };
    if (hasEnded && was && was.status !== 'published') {
      await refinalizePost(em, scope, { publicUrl: deps.publicUrl, rules: deps.rules, now });
    }

    await refinalizeCancelled(em, scope, { publicUrl: deps.publicUrl, rules: deps.rules, now });
  });
}
