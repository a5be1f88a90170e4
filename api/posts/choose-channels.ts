import { sql } from 'kysely';
import type { Channel } from '../../db/entities/channel.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';

/** What a post's content is validated for. */
export type ChosenChannel = Pick<Channel, 'id' | 'platform' | 'handle' | 'state' | 'settings'>;

/**
 * The workspace's channels with these ids, in this order, each once.
 *
 * @throws AppError `invalid_channel_ids` that names every id which is malformed, unknown or of another workspace.
 */
export async function chooseChannels(
  em: Em,
  workspaceId: string,
  given: readonly string[],
): Promise<ChosenChannel[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter(isId);
  const found = wellFormed.length
    ? await query(
        em,
        sql<ChosenChannel>`
          select id, platform, handle, state, settings from channels
          where workspace_id = ${workspaceId} and id = any(${wellFormed})`,
      )
    : [];
  const byId = new Map(found.map((channel) => [channel.id, channel]));
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) {
    throw invalid(`No channel of this workspace has the id ${unknown.join(', ')}.`, '/channel_ids');
  }

  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** @throws AppError `invalid_channel_ids` when a text is meant for a channel that the post does not go to. */
export function assertChosen(
  ids: readonly string[],
  overrides: Readonly<Record<string, string>>,
): void {
  const chosen = new Set(ids);
  const stray = Object.keys(overrides).filter((id) => !chosen.has(id));
  if (stray.length > 0) {
    throw invalid(
      `channel_bodies names ${stray.join(', ')}, which is not among the post's channels.`,
      '/channel_bodies',
    );
  }
}

const invalid = (message: string, path: string): AppError =>
  new AppError('invalid_channel_ids', message, { details: [{ path, message }] });
