import { ask } from '../../db/ask.ts';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import { parkColumns, parkedMessage, parkJoins, parkOf, type Park, type ParkRow } from './park.ts';
import { SupersededError } from './setback.ts';
import type { PublishTarget } from './target.ts';

/**
 * Commits the intent to send. After this and until an outcome is written, nobody sends these parts again, neither for
 * this publishing of the post nor for another. The channel's lock keeps it apart from the channel's end: a try that
 * hung so long that somebody else ended the channel sends nothing.
 *
 * Neither does one whose post was cancelled and scheduled anew since: what goes out then is the post as it is by now,
 * at its new time. Only a thread of which a part is out, and that nobody changed, is finished. An edit looks at what is
 * live or marked under the same lock, so a channel gets one version of a thread or the other, never a mixture.
 *
 * When a send begins is told by the database's clock: whoever settles it later may be a worker with another one.
 *
 * @returns the entries as they are now.
 * @throws SupersededError when another try was faster; the next try finds what that one wrote.
 * @throws NetworkError `rate_limited` when a limit was met meanwhile.
 */
export async function markSending(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
): Promise<Entry[]> {
  const now = deps.now();
  return deps.orm.em.fork().transactional(async (em) => {
    const [channel] = await ask<ParkRow & { status: string }>(
      em,
      `select pc.status, ${parkColumns}
       from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id ${parkJoins}
       where pc.id = $1 and pc.workspace_id = $2 for update of pc`,
      [target.postChannelId, target.workspaceId],
    );
    if (channel?.status !== 'publishing') {
      throw new SupersededError('The channel is not being sent any more.');
    }

    mustNotBeParked(parkOf(channel), now.getTime());
    const marked = await ask<{ id: string; sending_at: string | Date }>(
      em,
      `update publish_attempts a set state = 'sending', sending_at = clock_timestamp(), updated_at = $1
       where id = any($2::uuid[]) and workspace_id = $3 and state in ('ready', 'refused')
         and exists (
           select 1 from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
           where pc.id = a.post_channel_id and p.workspace_id = $3
             and (p.run = $4 or (a.part > 0 and pc.body is null and p.thread = $5::jsonb)))
         and not exists (
         select 1 from publish_attempts other where other.post_channel_id = a.post_channel_id
           and other.workspace_id = a.workspace_id and other.id <> a.id
           and (other.run > a.run or (other.part = a.part and other.state in ('sending', 'sent', 'unknown'))))
       returning id, sending_at`,
      [now, step.map(({ id }) => id), target.workspaceId, target.run, JSON.stringify(target.texts)],
    );
    if (marked.length !== step.length) {
      throw new SupersededError(
        'Another try of this channel is sending, or is to send what the post says now.',
      );
    }

    const begun = new Map(marked.map((row) => [row.id, new Date(row.sending_at)]));
    return step.map((entry) => ({
      ...entry,
      state: 'sending' as const,
      sendingAt: begun.get(entry.id) ?? null,
    }));
  });
}

/** While this try prepared, another post of the channel, or of the server, may have met a limit. */
function mustNotBeParked(park: Park | null, nowMs: number): void {
  if (park && park.untilMs > nowMs) {
    const { scope: limit, untilMs: retryAtMs } = park;
    throw new NetworkError('rate_limited', parkedMessage(park), { taken: 'no', retryAtMs, limit });
  }
}

/** Writes down that the network has these posts. */
export async function markSent(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
  sent: readonly SentPart[],
): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `update publish_attempts a set state = 'sent', remote_id = live.remote_id, url = live.url, updated_at = $1
     from unnest($2::uuid[], $3::text[], $4::text[]) as live (id, remote_id, url)
     where a.id = live.id and a.workspace_id = $5`,
    [
      deps.now(),
      step.map(({ id }) => id),
      step.map((_, index) => sent[index]?.remoteId),
      step.map((_, index) => sent[index]?.url),
      target.workspaceId,
    ],
  );
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
