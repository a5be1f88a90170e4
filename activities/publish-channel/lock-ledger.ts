import type { Em } from '../../db/orm.ts';
import type { PostStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import { isWhole, readLedger, type Entry } from './ledger.ts';
import { SupersededError } from './setback.ts';
import type { PublishTarget } from './target.ts';

type Locked = {
  /** Undefined: the post is gone. */
  readonly status: PostStatus | undefined;
  readonly entries: readonly Entry[];
};

/**
 * The post and the ledger as they are while nobody changes them, for whoever ends or stops a try: another one may have
 * gone on while it hung. The post is locked before its channel, as everybody locks them: a cancel or an intent comes
 * before this or after it.
 *
 * @throws SupersededError when the post is being published anew, or another try has sent all of it: what became of this
 *   one is of no consequence, and the next try finds the other's result.
 */
export async function lockLedger(
  em: Em,
  deps: ActivityDeps,
  target: PublishTarget,
): Promise<Locked> {
  const { postId, postChannelId, workspaceId } = target;
  const [post] = await em.execute<{ status: PostStatus; run: number }[]>(
    'select status, run from posts where id = ? and workspace_id = ? for no key update',
    [postId, workspaceId],
  );
  await em.execute(
    'select id from post_channels where id = ? and workspace_id = ? for no key update',
    [postChannelId, workspaceId],
  );
  const entries = await readLedger(deps, target, em);
  const isEarlier = post?.status === 'publishing' && post.run !== target.run;
  if (isEarlier || (await isSent(em, deps, target, entries))) {
    throw new SupersededError('Another try has sent it, or is to send what the post says now.');
  }

  return { status: post?.status, entries };
}

/** What a cancel lets finish is the thread as it was sent last. */
async function isSent(
  em: Em,
  deps: ActivityDeps,
  target: PublishTarget,
  entries: readonly Entry[],
): Promise<boolean> {
  if (!target.isFinishing) {
    return entries.length >= target.texts.length && isWhole(entries);
  }

  const run = Math.max(0, ...entries.map((entry) => entry.run));
  return isWhole(run === target.run ? entries : await readLedger(deps, { ...target, run }, em));
}
