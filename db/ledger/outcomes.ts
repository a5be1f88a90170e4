import { sql, type RawBuilder } from 'kysely';
import { postAddress } from '../../domain/texts.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { LedgerEntry } from './entries.ts';
import { type LedgerOf, mayBeLiveInSql } from './parts.ts';

/** SQL: marks these parts as sent. With the limit PostgreSQL expects one row; with ten it would plan each call anew. */
export const markSent = (
  workspaceId: string,
  live: readonly LedgerEntry[],
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'sent', remote_id = live.remote_id, url = live.url, warning = live.warning,
    updated_at = ${now}
  from (
    select * from unnest(${live.map(({ id }) => id)}::uuid[], ${live.map(({ sent }) => sent?.remoteId)}::text[],
      ${live.map(({ sent }) => sent && postAddress(sent.url))}::text[],
      ${live.map(({ sent }) => sent?.warning ?? null)}::text[]) as sent (id, remote_id, url, warning)
    limit ${live.length}) live
  where pp.id = live.id and pp.workspace_id = ${workspaceId}`;

/**
 * Records that a part is not known to be live (`PartState` explains the states). Only for this send: another attempt may
 * have sent the part again while this one hung.
 *
 * @param step Entries as they were when sent or reconciled, with the data for the next send.
 * @returns false if another attempt has changed one since.
 */
export async function markUnsent(
  em: Em,
  workspaceId: string,
  step: readonly LedgerEntry[],
  state: 'ready' | 'refused' | 'doubted',
  now: Date,
): Promise<boolean> {
  const [from, sendingAt] =
    state === 'doubted'
      ? [sql`pp.state in ('sending', 'doubted')`, sql`pp.sending_at`]
      : [sql`pp.state <> 'sent'`, sql`null`];
  const marked = await query(
    em,
    sql`update post_parts pp set state = ${state}, sending_at = ${sendingAt}, updated_at = ${now},
        remote_data = sent.remote_data::jsonb
      from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ sendingAt: at }) => at)}::timestamptz[],
        ${step.map(({ data }) => JSON.stringify(data))}::text[]) as sent (id, sending_at, remote_data)
      where pp.id = sent.id and pp.workspace_id = ${workspaceId} and ${from}
        and pp.sending_at is not distinct from sent.sending_at
      returning pp.id`,
  );
  return marked.length === step.length;
}

/** SQL: records that the network rejected a part after accepting it: the part and its replies are not live. */
export const markRejected = (
  workspaceId: string,
  postChannelId: string,
  { part }: Pick<LedgerEntry, 'part'>,
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'refused', remote_id = null, url = null, sending_at = null, sealed_uploads = null, updated_at = ${now}
  where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and pp.state = 'sent'
    and pp.part >= ${part}`;

/** A post that a person found. `url` is as `postAddress` formats it. */
export type FoundPost = { readonly url: string; readonly remoteId: string | null };

/**
 * Returns another post of the channel that has this URL or id; an id also finds this post itself. After a restore, only
 * the channel may have the URL of a settlement.
 *
 * @returns null for none; with a null id if that post was deleted.
 */
export async function postAt(
  em: Em,
  { workspaceId, channelId, postChannelId }: LedgerOf & { readonly channelId: string },
  { url, remoteId }: FoundPost,
): Promise<{ readonly id: string | null } | null> {
  const [other] = await query(
    em,
    sql<{ id: string | null }>`
      select pc.post_id as id from post_parts pp
      left join post_channels pc on pc.id = pp.post_channel_id and pc.workspace_id = pp.workspace_id
      where pp.channel_id = ${channelId} and pp.workspace_id = ${workspaceId}
        and (pp.remote_id = ${remoteId}::text or pp.url = ${url}
          and pp.post_channel_id is distinct from ${postChannelId} and pp.state <> 'refused')
      union all
      select pc.post_id from post_channels pc
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.settled_at is not null
        and pc.url = ${url} and pc.id <> ${postChannelId}
      limit 1`,
  );
  return other ?? null;
}

/** Keeps, without text, the parts of a deleted post that are or may be live, so that no other post claims them. */
export async function detachParts(
  em: Em,
  workspaceId: string,
  postChannelIds: readonly string[],
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`delete from post_parts pp where pp.post_channel_id = any(${postChannelIds}::uuid[])
        and pp.workspace_id = ${workspaceId} and not ${mayBeLiveInSql('pp')}`,
  );
  await query(
    em,
    sql`update post_parts pp set post_channel_id = null, text = '', remote_data = '{}', sealed_uploads = null,
          updated_at = ${now}
        where pp.post_channel_id = any(${postChannelIds}::uuid[]) and pp.workspace_id = ${workspaceId}`,
  );
}
