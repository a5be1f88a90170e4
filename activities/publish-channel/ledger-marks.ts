import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

/**
 * Commits the intent to send. After this and until an outcome is written, nobody sends these parts again, neither for
 * this publishing of the post nor for another. The channel's lock keeps it apart from the channel's end: a try that
 * hung so long that somebody else ended the channel sends nothing.
 *
 * @returns the entries as they are now.
 * @throws Error when another try was faster; the next try finds what that one wrote.
 */
export async function markSending(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
): Promise<Entry[]> {
  const now = deps.now();
  await deps.orm.em.fork().transactional(async (em) => {
    const [channel] = await em.execute<{ status: string }[]>(
      'select status from post_channels where id = ? and workspace_id = ? for update',
      [target.postChannelId, target.workspaceId],
    );
    if (channel?.status !== 'publishing') {
      throw new Error('The channel is not being sent any more.');
    }

    const marked = await em.execute<{ id: string }[]>(
      `update publish_attempts a set state = 'sending', sending_at = ?, updated_at = ?
       where id in (?) and workspace_id = ? and state in ('ready', 'refused') and not exists (
         select 1 from publish_attempts other where other.post_channel_id = a.post_channel_id
           and other.workspace_id = a.workspace_id and other.id <> a.id
           and (other.run > a.run or (other.part = a.part and other.state in ('sending', 'sent', 'unknown'))))
       returning id`,
      [now, now, step.map(({ id }) => id), target.workspaceId],
    );
    if (marked.length !== step.length) {
      throw new Error('Another try of this channel is sending.');
    }
  });
  return step.map((entry) => ({ ...entry, state: 'sending', sendingAt: now }));
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

/**
 * Writes down that nothing came of this send, for certain: `ready` may be sent later, `refused` not. Only of this one:
 * while a try hung, another may have sent again, and what became of that is not known here.
 *
 * @param step As it was when it was sent, or looked for.
 */
export async function markNotTaken(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
  state: 'ready' | 'refused',
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    for (const { id, sendingAt } of step) {
      await em.execute(
        `update publish_attempts set state = ?, sending_at = null, updated_at = ?
         where id = ? and workspace_id = ? and state <> 'sent' and sending_at is not distinct from ?`,
        [state, deps.now(), id, target.workspaceId, sendingAt],
      );
    }
  });
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
