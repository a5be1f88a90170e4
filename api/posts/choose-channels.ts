import { sql, type RawBuilder } from 'kysely';
import type { Channel } from '../../db/entities/channel.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';
import type { EditPostBody } from './schemas.ts';

/** What a post's content is validated for. */
export type ChosenChannel = Pick<
  Channel,
  'id' | 'platform' | 'handle' | 'state' | 'settings' | 'options'
>;

/**
 * The workspace's channels with these ids, in this order, each once.
 *
 * @param at Where the request has them.
 * @throws AppError `invalid_channel_ids` that names every id which is malformed, unknown or of another workspace.
 */
export async function chooseChannels(
  em: Em,
  workspaceId: string,
  given: readonly string[],
  at = '/channel_ids',
): Promise<ChosenChannel[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter(isId);
  const found = wellFormed.length
    ? await query(
        em,
        sql<ChosenChannel>`
          select id, platform, handle, state, settings, options from channels
          where workspace_id = ${workspaceId} and id = any(${wellFormed}) and disconnected_at is null`,
      )
    : [];
  const byId = new Map(found.map((channel) => [channel.id, channel]));
  assertKnown(ids, new Set(byId.keys()), at);
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** @throws AppError `invalid_channel_ids` */
export function assertKnown(ids: readonly string[], known: ReadonlySet<string>, at: string): void {
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) {
    throw invalid(`No channel of this workspace has the id ${unknown.join(', ')}.`, at);
  }
}

/** SQL: the channels with these ids that are connected, which no disconnection takes away until the transaction ends. */
export const heldChannels = (
  workspaceId: string,
  ids: readonly string[],
): RawBuilder<{ id: string }> =>
  sql<{ id: string }>`
    select id from channels
    where workspace_id = ${workspaceId}::uuid and id = any(${ids}::uuid[]) and disconnected_at is null
    order by id for key share`;

/**
 * Keeps channels from being disconnected until the transaction ends. Whoever adds a channel to a post calls this after
 * the post's lock and before any other.
 *
 * @param ids Of `chooseChannels`. @throws AppError `invalid_channel_ids` when one was disconnected since.
 */
export async function holdChannels(
  em: Em,
  workspaceId: string,
  ids: readonly string[],
): Promise<void> {
  const held = await query(em, heldChannels(workspaceId, ids));
  assertKnown(ids, new Set(held.map(({ id }) => id)), '/channel_ids');
}

/** @throws AppError `invalid_channel_ids` when something is meant for a channel that the post does not go to. */
export function assertChosen(
  ids: readonly string[],
  { channel_bodies: bodies, channel_options: options }: EditPostBody,
): void {
  const chosen = new Set(ids);
  for (const [field, given] of Object.entries({
    channel_bodies: bodies,
    channel_options: options,
  })) {
    const stray = Object.keys(given ?? {}).filter((id) => !chosen.has(id));
    if (stray.length > 0) {
      const message = `${field} names ${stray.join(', ')}, which is not among the post's channels.`;
      throw invalid(message, `/${field}`);
    }
  }
}

/** How messages call a channel. */
export const nameOfChannel = ({
  platform,
  handle,
  id,
}: Pick<Channel, 'platform' | 'handle' | 'id'>): string => `${platform} channel ${handle} (${id})`;

const invalid = (message: string, path: string): AppError =>
  new AppError('invalid_channel_ids', message, { details: [{ path, message }] });
