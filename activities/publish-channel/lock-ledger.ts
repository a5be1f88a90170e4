import { sql } from 'kysely';
import { isComplete, type LedgerEntry } from '../../db/ledger/entries.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { PostStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { readJobEntries } from './reconcile.ts';

export type Locked = {
  /** Undefined if the post does not exist. */
  readonly status: PostStatus | undefined;
  readonly entries: readonly LedgerEntry[];
  /** The account was disconnected, perhaps after the attempt began. */
  readonly isDisconnected: boolean;
};

/**
 * Locks the post and reads the ledger, to end or stop an attempt: another attempt may have continued while this one
 * hung. Locks the post before its channel, as all code does, so a cancel or an intent commits either before or after
 * this.
 *
 * @throws SupersededError if the post is being published in a newer run, or another attempt has sent all parts: the
 * result of this attempt no longer matters.
 */
export async function lockPostAndLedger(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
): Promise<Locked> {
  const { postId, postChannelId, workspaceId } = job;
  const [post] = await query(
    em,
    sql<{ status: PostStatus; run: number }>`
      select status, run from posts where id = ${postId} and workspace_id = ${workspaceId} for no key update`,
  );
  const [channel] = await query(
    em,
    sql<{ is_disconnected: boolean }>`
      select c.disconnected_at is not null as is_disconnected
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} for no key update of pc`,
  );
  const entries = await readJobEntries(deps, job, em);
  const isEarlier = post?.status === 'publishing' && post.run !== job.run;
  if (isEarlier || (await completeThread(deps, job, entries, em)) !== null) {
    throw new SupersededError('Superseded by a newer attempt or run.');
  }

  return { status: post?.status, entries, isDisconnected: channel?.is_disconnected ?? false };
}

/**
 * After a cancel, only the last sent version of the thread is finished.
 *
 * @returns its entries, or null while the network does not have all parts.
 */
export async function completeThread(
  deps: ActivityDeps,
  job: PublishJob,
  entries: readonly LedgerEntry[],
  em: Em = deps.orm.em.fork(),
): Promise<readonly LedgerEntry[] | null> {
  if (!job.isFinishing) {
    return entries.length >= job.texts.length && isComplete(entries) ? entries : null;
  }

  const run = Math.max(0, ...entries.map((entry) => entry.run));
  const last = run === job.run ? entries : await readJobEntries(deps, { ...job, run }, em);
  return isComplete(last) ? last : null;
}
