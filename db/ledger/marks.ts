import { sql, type RawBuilder } from 'kysely';
import { postAddress } from '../../domain/links.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { LedgerEntry } from './entries.ts';

/** SQL: marks these parts as sent. */
export const markSent = (
  workspaceId: string,
  live: readonly LedgerEntry[],
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'sent', remote_id = live.remote_id, url = live.url, warning = live.warning,
    updated_at = ${now}
  from unnest(${live.map(({ id }) => id)}::uuid[], ${live.map(({ sent }) => sent?.remoteId)}::text[],
    ${live.map(({ sent }) => sent && postAddress(sent.url))}::text[],
    ${live.map(({ sent }) => sent?.warning ?? null)}::text[]) as live (id, remote_id, url, warning)
  where pp.id = live.id and pp.workspace_id = ${workspaceId}`;

/**
 * Records that a send certainly failed: `ready` may be sent later, `refused` not in this run. Only for this send:
 * another attempt may have sent the part again while this one hung.
 *
 * @param step Entries as they were when sent or reconciled.
 * @returns false if another attempt has changed one since.
 */
export async function markNotAccepted(
  em: Em,
  workspaceId: string,
  step: readonly LedgerEntry[],
  state: 'ready' | 'refused',
  now: Date,
): Promise<boolean> {
  const marked = await query(
    em,
    sql`update post_parts pp set state = ${state}, sending_at = null, updated_at = ${now},
        remote_data = sent.remote_data::jsonb
      from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ sendingAt }) => sendingAt)}::timestamptz[],
        ${step.map(({ data }) => JSON.stringify(data))}::text[]) as sent (id, sending_at, remote_data)
      where pp.id = sent.id and pp.workspace_id = ${workspaceId} and pp.state <> 'sent'
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

/**
 * Records that the network does not show posts, so that only sending the same parts again can tell. They stay open
 * until then.
 *
 * @param step Entries with the data for the next send.
 * @returns false if another attempt has changed one since.
 */
export async function markDoubted(
  em: Em,
  workspaceId: string,
  step: readonly LedgerEntry[],
  now: Date,
): Promise<boolean> {
  const marked = await query(
    em,
    sql`update post_parts pp set state = 'doubted', updated_at = ${now}, remote_data = doubted.remote_data::jsonb
      from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ sendingAt }) => sendingAt)}::timestamptz[],
        ${step.map(({ data }) => JSON.stringify(data))}::text[]) as doubted (id, sending_at, remote_data)
      where pp.id = doubted.id and pp.workspace_id = ${workspaceId} and pp.state in ('sending', 'doubted')
        and pp.sending_at is not distinct from doubted.sending_at
      returning pp.id`,
  );
  return marked.length === step.length;
}

/** SQL, end of a statement: makes the unsent parts of these channels open. */
export const doubtParts = (
  workspaceId: string,
  channels: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
  update post_parts pp set state = 'sending', sending_at = clock_timestamp(), updated_at = clock_timestamp()
  from ${channels} channel
  where pp.post_channel_id = channel.id and pp.workspace_id = ${workspaceId} and pp.state in ('ready', 'refused')`;
