import { ask } from '../../db/ask.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import {
  insertedColumns,
  insertedEntries,
  insertedValues,
  valuesToInsert,
} from './ledger-insert.ts';
import { parkColumns, parkedMessage, parkJoins, parkOf, type ParkRow } from './park.ts';
import { SupersededError } from './setback.ts';
import type { PublishTarget } from './target.ts';

/** Those that go out next, and all that have not gone out. */
type ToSend = { readonly step: readonly Entry[]; readonly remaining: readonly Entry[] };
type Channel = ParkRow & { readonly status: string };
type Marked = { readonly id: string; readonly sending_at: string | Date };

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
  const isNew = step.some(({ state }) => state === 'new');
  const marked = isNew
    ? await markNew(deps, target, { step, remaining })
    : await markKnown(deps, target, step);
  mustBeAll(marked, step);
  const begun = new Map(marked.map((row) => [row.id, new Date(row.sending_at)]));
  return step.map((entry) => ({
    ...entry,
    state: 'sending' as const,
    sendingAt: begun.get(entry.id) ?? null,
  }));
}

/**
 * The first intent of a thread writes all of its entries down, so that what comes next is as sure as what goes out. One
 * statement: it locks what it goes by, the post before its channel as everybody does, and so goes by what these say once
 * it has waited for them; of another try's entries it hears by their key.
 */
async function markNew(
  deps: ActivityDeps,
  target: PublishTarget,
  { step, remaining }: ToSend,
): Promise<Marked[]> {
  const now = deps.now();
  const [channel] = await ask<Channel & { marked: readonly Marked[] | null }>(
    deps.orm.em.fork(),
    `with channel as materialized (
       select pc.status, p.run, ${parkColumns}
       from posts p
       join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
       join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id ${parkJoins}
       where pc.id = $2 and p.id = $11 and p.workspace_id = $1 for share of p for update of pc),
     written as (
       insert into post_parts (${insertedColumns})
       select ${insertedValues}, case when entry.id = any($12::uuid[]) then 'sending' else 'ready' end,
         case when entry.id = any($12::uuid[]) then clock_timestamp() end
       from ${insertedEntries}, channel
       where channel.status = 'publishing' and channel.run = $4
         and not coalesce(greatest(channel_park, server_park, network_park) > $5, false)
         and not exists (
           select 1 from post_parts other where other.post_channel_id = $2 and other.workspace_id = $1
             and (other.run >= $4 or other.state in ('sending', 'sent')))
       on conflict (post_channel_id, run, part) do nothing returning id, state, sending_at)
     select channel.*, (select json_agg(written) from written where state = 'sending') as marked from channel`,
    [...valuesToInsert(target, remaining, now), target.postId, step.map(({ id }) => id)],
  );
  mustBeOpen(channel, now);
  return [...(channel?.marked ?? [])];
}

/** A later part of a thread, or one that was not taken before, with what may have been prepared anew for it. */
const markKnown = (
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
): Promise<Marked[]> =>
  deps.orm.em.fork().transactional(async (em) => {
    const now = deps.now();
    const [channel] = await ask<Channel>(
      em,
      `select pc.status, ${parkColumns}
       from posts p
       join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
       join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id ${parkJoins}
       where pc.id = $1 and p.id = $3 and p.workspace_id = $2 for share of p for update of pc`,
      [target.postChannelId, target.workspaceId, target.postId],
    );
    mustBeOpen(channel, now);
    const marked = await ask<Marked>(
      em,
      `update post_parts a set state = 'sending', sending_at = clock_timestamp(), updated_at = $1,
         remote_data = known.remote_data::jsonb
       from unnest($2::uuid[], $6::text[]) as known (id, remote_data)
       where a.id = known.id and a.workspace_id = $3 and a.state in ('ready', 'refused')
         and exists (
           select 1 from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
           where pc.id = a.post_channel_id and p.workspace_id = $3
             and (p.run = $4 or (a.part > 0 and pc.body is null and p.thread = $5::jsonb)))
         and not exists (
           select 1 from post_parts other where other.post_channel_id = a.post_channel_id
             and other.workspace_id = a.workspace_id and other.id <> a.id
             and (other.run > a.run or (other.part = a.part and other.state in ('sending', 'sent'))))
       returning a.id, a.sending_at`,
      [
        now,
        step.map(({ id }) => id),
        target.workspaceId,
        target.run,
        JSON.stringify(target.texts),
        step.map(({ data }) => JSON.stringify(data)),
      ],
    );
    mustBeAll(marked, step); // Here, so that nothing is marked if not all are.
    return marked;
  });

/** @throws SupersededError */
function mustBeAll(marked: readonly Marked[], step: readonly Entry[]): void {
  if (marked.length !== step.length) {
    throw new SupersededError(
      'Another try of this channel is sending, or is to send what the post says now.',
    );
  }
}

/** @throws SupersededError @throws NetworkError `rate_limited` */
function mustBeOpen(channel: Channel | undefined, now: Date): void {
  if (channel?.status !== 'publishing') {
    throw new SupersededError('The channel is not being sent any more.');
  }

  // While this try prepared, another post of the channel, or of the server, may have met a limit.
  const park = parkOf(channel);
  if (park && park.untilMs > now.getTime()) {
    const { scope: limit, untilMs: retryAtMs } = park;
    throw new NetworkError('rate_limited', parkedMessage(park), { taken: 'no', retryAtMs, limit });
  }
}
