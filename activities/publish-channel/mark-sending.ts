import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import {
  insertedColumns,
  insertedEntries,
  insertedValues,
  valuesToInsert,
} from './ledger-insert.ts';
import { parkColumns, parkedMessage, parkJoins, parkOf, type Park, type ParkRow } from './park.ts';
import { SupersededError } from './setback.ts';
import type { PublishTarget } from './target.ts';

/** Those that go out next, and all that have not gone out. */
type ToSend = { readonly step: readonly Entry[]; readonly remaining: readonly Entry[] };
type Marked = { id: string; sending_at: string | Date };

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
  { step, remaining }: ToSend,
): Promise<Entry[]> {
  const now = deps.now();
  const isNew = step.some(({ state }) => state === 'new');
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
    const marked = isNew
      ? await markNew(em, target, { step, remaining }, now)
      : await markKnown(em, target, step, now);
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

/** The first intent of a thread writes all of its entries down, so that what comes next is as sure as what goes out. */
const markNew = async (
  em: Em,
  target: PublishTarget,
  { step, remaining }: ToSend,
  now: Date,
): Promise<Marked[]> => {
  const written = await ask<Marked & { state: string }>(
    em,
    `insert into publish_attempts (${insertedColumns})
     select ${insertedValues}, case when entry.id = any($12::uuid[]) then 'sending' else 'ready' end,
       case when entry.id = any($12::uuid[]) then clock_timestamp() end
     from ${insertedEntries}
     where exists (
         select 1 from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
         where pc.id = $2 and p.workspace_id = $1 and p.run = $4)
       and not exists (
         select 1 from publish_attempts other where other.post_channel_id = $2 and other.workspace_id = $1
           and (other.run >= $4 or other.state in ('sending', 'sent', 'unknown')))
     on conflict (post_channel_id, run, part) do nothing returning id, state, sending_at`,
    [...valuesToInsert(target, remaining, now), step.map(({ id }) => id)],
  );
  return written.filter(({ state }) => state === 'sending');
};

const markKnown = (
  em: Em,
  target: PublishTarget,
  step: readonly Entry[],
  now: Date,
): Promise<Marked[]> =>
  ask<Marked>(
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

/** While this try prepared, another post of the channel, or of the server, may have met a limit. */
function mustNotBeParked(park: Park | null, nowMs: number): void {
  if (park && park.untilMs > nowMs) {
    const { scope: limit, untilMs: retryAtMs } = park;
    throw new NetworkError('rate_limited', parkedMessage(park), { taken: 'no', retryAtMs, limit });
  }
}
