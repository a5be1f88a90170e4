import { sql, type RawBuilder } from 'kysely';
import { postAddress } from '../../domain/links.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { Entry } from './entries.ts';

/** Part of a statement: records that the network has these parts. */
export const markSent = (
  workspaceId: string,
  live: readonly Entry[],
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'sent', remote_id = live.remote_id, url = live.url, warning = live.warning,
    updated_at = ${now}
  from unnest(${live.map(({ id }) => id)}::uuid[], ${live.map(({ sent }) => sent?.remoteId)}::text[],
    ${live.map(({ sent }) => sent && postAddress(sent.url))}::text[],
    ${live.map(({ sent }) => sent?.warning ?? null)}::text[]) as live (id, remote_id, url, warning)
  where pp.id = live.id and pp.workspace_id = ${workspaceId}`;

/**
 * Records that nothing came of a send, for certain: `ready` may be sent later, `refused` not. Only of this send: while a
 * try hung, another may have sent again, and what became of that is not known here.
 *
 * @param step As it was when it was sent, or looked for.
 * @returns false when another try has changed any of it since.
 */
export async function markNotTaken(
  em: Em,
  workspaceId: string,
  step: readonly Entry[],
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

/**
 * Part of a statement: records that the network gave up a part which it had taken: nothing of it is there any more, nor of
 * what continued it.
 */
export const markRejected = (
  workspaceId: string,
  postChannelId: string,
  { part }: Pick<Entry, 'part'>,
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'refused', remote_id = null, url = null, sending_at = null, sealed_uploads = null, updated_at = ${now}
  where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and pp.state = 'sent'
    and pp.part >= ${part}`;

/**
 * Records that the network shows no posts, so that only the same parts sent again can tell. They stay open until then.
 *
 * @param step With what the network is to know at the next send.
 * @returns false when another try has changed any of it since.
 */
export async function markDoubted(
  em: Em,
  workspaceId: string,
  step: readonly Entry[],
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

/** The end of a statement: what was not sent of these channels, as far as the ledger knows, is in doubt. */
export const doubtParts = (
  workspaceId: string,
  channels: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
  update post_parts pp set state = 'sending', sending_at = clock_timestamp(), updated_at = clock_timestamp()
  from ${channels} channel
  where pp.post_channel_id = channel.id and pp.workspace_id = ${workspaceId} and pp.state in ('ready', 'refused')`;
