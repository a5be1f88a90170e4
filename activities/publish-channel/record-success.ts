import { sql } from 'kysely';
import { published } from '../../db/channel-status.ts';
import { refinalizePost, refinalizeCancelled } from '../../db/refinalize-post.ts';
import type { Entry } from '../../db/ledger/entries.ts';
import { sentText } from '../../db/ledger/live-parts.ts';
import { markSent } from '../../db/ledger/marks.ts';
import { query } from '../../db/query.ts';
import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { closeCircuit, giveSlotBack } from './server-slots.ts';

/** Where the parts of a thread are. */
export type Live = {
  readonly sent: readonly SentPart[];
  /** Those of them of which the ledger does not say so yet. */
  readonly last: readonly Entry[];
};

/**
 * The channel has its post, and the ledger the parts that were sent last: one statement says both, and before it a try
 * would ask the network. The address of a thread is that of its first part. What went out is what the ledger says,
 * since the post may have been edited between a send and the try that found out what became of it.
 *
 * The post may have ended without this, when a worker was silent for so long that nobody waited for it any more. Then
 * it ends anew, and a second final event says so.
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

/**
 * What the channel and its post become, by either way. The post is locked first, as everybody locks them: two that wait
 * for each other would both be stuck.
 */
const publishedPost = (now: Date) =>
  sql`published_at = coalesce(published_at, ${now}), updated_at = ${now}`;
const publishedChannel = (now: Date, { sent: [first, ...more], last }: Live) => {
  const text = last.find(({ part }) => part === 0)?.text ?? null;
  const warnings = new Set([first, ...more].flatMap((part) => part?.warning ?? []));
  return sql`${published(now)}, url = ${first?.url ?? null}, sent_text = coalesce(${text}::text, ${sentText}),
    sent_warning = ${[...warnings].join(' ') || null}`;
};

/**
 * While the post waits for its channels. The slot at the server is free again in any case.
 *
 * @returns false when it does not wait any more.
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
      slot as (${giveSlotBack(job, true)}),
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
