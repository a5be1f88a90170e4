import { Channel } from '../../db/entities/channel.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { CreatePostBody } from './schemas.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/v;

/**
 * The channels that a request names, in its order, each once.
 *
 * @throws AppError `invalid_channel_ids` that names every id which is malformed, unknown or somebody else's.
 */
export async function chooseChannels(
  em: Em,
  workspaceId: string,
  { channel_ids: given = [], channel_bodies: overrides = {} }: CreatePostBody,
): Promise<Channel[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter((id) => uuid.test(id));
  const found = wellFormed.length
    ? await em.find(Channel, { id: { $in: wellFormed }, workspaceId })
    : [];
  const byId = new Map(found.map((channel) => [channel.id, channel]));
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) {
    throw invalid(`No channel of this workspace has the id ${unknown.join(', ')}.`, '/channel_ids');
  }

  const stray = Object.keys(overrides).filter((id) => !byId.has(id));
  if (stray.length > 0) {
    throw invalid(
      `channel_bodies names ${stray.join(', ')}, which is not among channel_ids.`,
      '/channel_bodies',
    );
  }

  return ids.flatMap((id) => byId.get(id) ?? []);
}

const invalid = (message: string, path: string): AppError =>
  new AppError('invalid_channel_ids', message, { details: [{ path, message }] });
