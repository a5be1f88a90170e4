import { sql } from 'kysely';
import {
  limitColumns,
  limitJoins,
  limitOf,
  type LimitRow,
  type NetworkLimit,
} from '../network-limits.ts';
import { newId } from '../new-id.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { OfAccount } from './claims.ts';
import type { Entry } from './entries.ts';
import { outInSql } from './part-states.ts';

/** Another try of the channel was faster, or ended it. That one says what became of it. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** A limit that was met since the try began. */
export class LimitedError extends Error {
  override readonly name = 'LimitedError';
  readonly limit: NetworkLimit;

  constructor(limit: NetworkLimit) {
    super('A rate limit was met meanwhile.');
    this.limit = limit;
  }
}

/** A run of a post on one of its channels. */
export type Thread = OfAccount & {
  readonly postId: string;
  readonly run: number;
  /** What goes out, in order. */
  readonly texts: readonly string[];
};

/** Those that go out next, and all that have not gone out. */
type ToSend = { readonly step: readonly Entry[]; readonly remaining: readonly Entry[] };
type Channel = LimitRow & { readonly status: string };
type Marked = { readonly id: string; readonly sending_at: string | Date };

/** A part that is not in the ledger yet. */
export const newEntry = (
  run: number,
  prepared: Pick<Entry, 'part' | 'key' | 'text' | 'media' | 'options' | 'data'>,
): Entry => ({
  ...prepared,
  id: newId(),
  run,
  state: 'new',
  sent: null,
  sendingAt: null,
  sendingForMs: null,
  sealedUploads: null,
});

/** An entry that has come into the ledger, and is not sent. */
export const asReady = (entry: Entry): Entry => ({
  ...entry,
  state: entry.state === 'new' ? 'ready' : entry.state,
});

/** @returns whether all of them are in the ledger now; false when another try had some of them there before. */
export async function addEntries(
  em: Em,
  thread: Thread,
  entries: readonly Entry[],
  now: Date,
): Promise<boolean> {
  const added = await query(
    em,
    sql`insert into post_parts (${insertedColumns})
      select ${insertedValues(thread, now)}, 'ready', null from ${unnested(entries)}
      on conflict (post_channel_id, run, part) do nothing returning id`,
  );
  return added.length === entries.length;
}

const insertedColumns = sql`id, workspace_id, post_channel_id, channel_id, run, part, key, text, remote_data,
  created_at, updated_at, state, sending_at`;

/** Of each entry, as many as there are columns, but for the state and since when it is being sent. */
const insertedValues = ({ workspaceId, postChannelId, channelId, run }: Thread, now: Date) =>
  sql`entry.id, ${workspaceId}::uuid, ${postChannelId}::uuid, ${channelId}::uuid, ${run}::int, entry.part, entry.key,
    entry.text, entry.remote_data::jsonb, ${now}::timestamptz, ${now}::timestamptz`;

const unnested = (entries: readonly Entry[]) =>
  sql`unnest(${entries.map(({ id }) => id)}::uuid[], ${entries.map(({ part }) => part)}::int[],
    ${entries.map(({ key }) => key)}::text[], ${entries.map(({ text }) => text)}::text[],
    ${entries.map(({ data }) => JSON.stringify(data))}::text[]) as entry (id, part, key, text, remote_data)`;

/**
 * Commits the intent to send. After this and until an outcome is written, nobody sends these parts again, neither for
 * this run of the post nor for another. The channel's lock keeps it apart from the channel's end: a try that hung so
 * long that somebody else ended the channel sends nothing.
 *
 * Neither does one whose post was cancelled and scheduled anew since: what goes out then is the post as it is by now,
 * at its new time. Only a thread of which a part is out, and that nobody changed, is finished. An edit looks at what is
 * live or marked under the same lock, so a channel gets one version of a thread or the other, never a mixture.
 *
 * A send goes by what its own try uploaded: where another try has kept other uploads since, this one sends nothing, as a
 * look would go by those.
 *
 * The database's clock tells when a send begins: the worker that reconciles it later may have another one.
 *
 * @returns the entries as they are now.
 * @throws SupersededError when another try was faster; the next try finds what that one wrote.
 * @throws LimitedError
 */
export async function markSending(
  em: Em,
  thread: Thread,
  { step, remaining }: ToSend,
  now: Date,
): Promise<Entry[]> {
  const isNew = step.some(({ state }) => state === 'new');
  const marked = isNew
    ? await markNew(em, thread, { step, remaining }, now)
    : await markKnown(em, thread, step, now);
  assertAll(marked, step);
  const begun = new Map(marked.map((row) => [row.id, new Date(row.sending_at)]));
  return step.map((entry) => ({
    ...entry,
    state: 'sending' as const,
    sendingAt: begun.get(entry.id) ?? null,
  }));
}

/** Both forms lock what they go by, the post before its channel as everybody does. */
const lockedChannel = ({ workspaceId, postId, postChannelId }: Thread) => sql`
  select pc.status, p.run, ${limitColumns}
  from posts p
  join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id ${limitJoins}
  where pc.id = ${postChannelId} and p.id = ${postId} and p.workspace_id = ${workspaceId} for share of p for update of pc`;

/**
 * The first intent of a thread writes all of its entries down, so that what comes next is as sure as what goes out. One
 * statement: it goes by what the locked rows say once it has waited for them; of another try's entries it hears by their
 * key.
 */
async function markNew(
  em: Em,
  thread: Thread,
  { step, remaining }: ToSend,
  now: Date,
): Promise<Marked[]> {
  const { workspaceId, postChannelId, run } = thread;
  const isNext = sql`entry.id = any(${step.map(({ id }) => id)}::uuid[])`;
  const [channel] = await query(
    em,
    sql<Channel & { marked: readonly Marked[] | null }>`
      with channel as materialized (${lockedChannel(thread)}),
      written as (
        insert into post_parts (${insertedColumns})
        select ${insertedValues(thread, now)}, case when ${isNext} then 'sending' else 'ready' end,
          case when ${isNext} then clock_timestamp() end
        from ${unnested(remaining)}, channel
        where channel.status = 'publishing' and channel.run = ${run}
          and not coalesce(greatest(channel_limit, server_limit, network_limit) > ${now}, false)
          and not exists (
            select 1 from post_parts other
            where other.post_channel_id = ${postChannelId} and other.workspace_id = ${workspaceId}
              and (other.run >= ${run} or ${outInSql('other')}))
        on conflict (post_channel_id, run, part) do nothing returning id, state, sending_at)
      select channel.*, (select json_agg(written) from written where state = 'sending') as marked from channel`,
  );
  assertOpen(channel, now);
  return [...(channel?.marked ?? [])];
}

/** A later part of a thread, or one that was not taken before, with what may have been prepared anew for it. */
const markKnown = (em: Em, thread: Thread, step: readonly Entry[], now: Date): Promise<Marked[]> =>
  em.transactional(async (within) => {
    const [channel] = await query(within, sql<Channel>`${lockedChannel(thread)}`);
    assertOpen(channel, now);
    const { workspaceId, run, texts } = thread;
    const marked = await query(
      within,
      sql<Marked>`
        update post_parts pp set state = 'sending', sending_at = clock_timestamp(), updated_at = ${now},
          remote_data = known.remote_data::jsonb
        from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ data }) => JSON.stringify(data))}::text[],
          ${step.map(({ sealedUploads }) => sealedUploads)}::text[]) as known (id, remote_data, sealed_uploads)
        where pp.id = known.id and pp.workspace_id = ${workspaceId} and pp.state in ('ready', 'refused', 'doubted')
          and pp.sealed_uploads is not distinct from known.sealed_uploads
          and exists (
            select 1 from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
            where pc.id = pp.post_channel_id and p.workspace_id = ${workspaceId}
              and (p.run = ${run}
                or (pp.part > 0 and pc.body is null and p.thread = ${JSON.stringify(texts)}::jsonb)))
          and not exists (
            select 1 from post_parts other where other.post_channel_id = pp.post_channel_id
              and other.workspace_id = pp.workspace_id and other.id <> pp.id
              and (other.run > pp.run or (other.part = pp.part and ${outInSql('other')})))
        returning pp.id, pp.sending_at`,
    );
    assertAll(marked, step); // Here, so that nothing is marked if not all are.
    return marked;
  });

/** @throws SupersededError */
function assertAll(marked: readonly Marked[], step: readonly Entry[]): void {
  if (marked.length !== step.length) {
    throw new SupersededError(
      'Another try of this channel is sending, or is to send what the post says now.',
    );
  }
}

/** While this try prepared, another post of the channel, or of the server, may have met a limit. */
function assertOpen(channel: Channel | undefined, now: Date): void {
  if (channel?.status !== 'publishing') {
    throw new SupersededError('The channel is not being sent any more.');
  }

  const limit = limitOf(channel);
  if (limit && limit.untilMs > now.getTime()) {
    throw new LimitedError(limit);
  }
}
