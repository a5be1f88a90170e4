import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

/**
 * Commits the intent to send. After this and until an outcome is written, nobody sends these parts again.
 *
 * @throws Error when another try was faster; the next try finds what that one wrote.
 */
export async function markSending(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
): Promise<void> {
  const now = deps.now();
  await deps.orm.em.fork().transactional(async (em) => {
    const marked = await em.execute<{ id: string }[]>(
      `update publish_attempts set state = 'sending', sending_at = ?, updated_at = ?
       where id in (?) and workspace_id = ? and state in ('ready', 'refused') returning id`,
      [now, now, step.map(({ id }) => id), target.workspaceId],
    );
    if (marked.length !== step.length) {
      throw new Error('Another try of this channel is sending.');
    }
  });
}

/** Writes down that the network has these posts. */
export async function markSent(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
  sent: readonly SentPart[],
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    for (const [index, { id }] of step.entries()) {
      await em.execute(
        `update publish_attempts set state = 'sent', remote_id = ?, url = ?, updated_at = ?
         where id = ? and workspace_id = ?`,
        [sent[index]?.remoteId, sent[index]?.url, deps.now(), id, target.workspaceId],
      );
    }
  });
}

/** Writes down that the network certainly does not have these posts: `ready` may be sent later, `refused` not. */
export async function markNotTaken(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
  state: 'ready' | 'refused',
): Promise<void> {
  await deps.orm.em.fork().execute(
    `update publish_attempts set state = ?, sending_at = null, updated_at = ?
       where id in (?) and workspace_id = ? and state <> 'sent'`,
    [state, deps.now(), step.map(({ id }) => id), target.workspaceId],
  );
}

/** Which of these ids of posts on the network another part of ours has claimed. */
export async function claimedElsewhere(
  deps: ActivityDeps,
  target: PublishTarget,
  remoteIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (remoteIds.length === 0) {
    return new Set();
  }

  const rows = await deps.orm.em
    .fork()
    .execute<{ remote_id: string }[]>(
      'select remote_id from publish_attempts where channel_id = ? and workspace_id = ? and remote_id in (?)',
      [target.channelId, target.workspaceId, remoteIds],
    );
  return new Set(rows.map((row) => row.remote_id));
}
