import { sql } from 'kysely';
import { isWhole, type Entry } from '../../db/ledger/entries.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { PostStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { readJobEntries } from './reconcile.ts';

export type Locked = {
  /** Undefined: the post is gone. */
  readonly status: PostStatus | undefined;
  readonly entries: readonly Entry[];
  /** The account's owner took it away, perhaps since the try began. */
  readonly isDisconnected: boolean;
};

/**
 * The post and the ledger as they are while nobody changes them, for whoever ends or stops a try: another one may have
 * gone on while it hung. The post is locked before its channel, as everybody locks them: a cancel or an intent comes
 * before this or after it.
 *
 * @throws SupersededError when the post is being published anew, or another try has sent all of it: what became of this
 *   one is of no consequence, and the next try finds the other's result.
 */
export async function lockLedger(em: Em, deps: ActivityDeps, job: PublishJob): Promise<Locked> {
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
  if (isEarlier || (await wholeThread(deps, job, entries, em)) !== null) {
    throw new SupersededError('Another try has sent it, or is to send what the post says now.');
  }

  return { status: post?.status, entries, isDisconnected: channel?.is_disconnected ?? false };
}

/**
 * What a cancel lets finish is the thread as it was sent last.
 *
 * @returns its entries, or null while the network does not have all of it.
 */
export async function wholeThread(
  deps: ActivityDeps,
  job: PublishJob,
  entries: readonly Entry[],
  em: Em = deps.orm.em.fork(),
): Promise<readonly Entry[] | null> {
  if (!job.isFinishing) {
    return entries.length >= job.texts.length && isWhole(entries) ? entries : null;
  }

  const run = Math.max(0, ...entries.map((entry) => entry.run));
  const last = run === job.run ? entries : await readJobEntries(deps, { ...job, run }, em);
  return isWhole(last) ? last : null;
}
