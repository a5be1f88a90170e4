import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import type { Caller } from '../context.ts';
import { postNotFound } from '../posts/read-posts.ts';

type Holder = Pick<Caller, 'workspaceId' | 'channelIds'>;

/**
 * A restricted key reads a post that has one of its channels, and changes a post that has no others.
 *
 * @throws AppError `not_found`, `channel_not_allowed`
 */
export async function assertReachesPost(
  em: Em,
  { workspaceId, channelIds }: Holder,
  postId: string,
  to: 'read' | 'change',
): Promise<void> {
  if (channelIds === null) {
    return;
  }

  const [on] = await query(
    em,
    sql<{ one: boolean | null; all: boolean | null }>`
      select bool_or(channel_id = any(${channelIds}::uuid[])) as one,
        bool_and(channel_id = any(${channelIds}::uuid[])) as all
      from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
  if (!on?.one) {
    throw postNotFound(postId);
  }

  if (to === 'change' && !on.all) {
    throw new AppError(
      'channel_not_allowed',
      'This post has channels that this API key may not use, so the key can only read it. Use a key without channel_ids.',
    );
  }
}

/** @throws AppError `not_found` */
export function assertReachesChannel(holder: Holder, channelId: string): void {
  if (!reaches(holder, channelId)) {
    throw new AppError('not_found', `There is no channel "${channelId}".`);
  }
}

/** The audit log is of all channels. @throws AppError `channel_not_allowed` */
export function assertUnrestricted(holder: Pick<Holder, 'channelIds'>): void {
  if (holder.channelIds !== null) {
    throw new AppError(
      'channel_not_allowed',
      'The audit log covers all channels, and this API key is restricted to some. Use a key without channel_ids.',
    );
  }
}

/** Figures over all channels are not for a restricted key. @throws AppError `invalid_request` */
export function assertOneChannel(holder: Holder, channelId: string | undefined): void {
  if (holder.channelIds !== null && (channelId === undefined || !reaches(holder, channelId))) {
    const message = 'must be one of the channel_ids of this API key';
    const details = [{ path: '?channel_id', message }];
    throw new AppError('invalid_request', `?channel_id ${message}.`, { details });
  }
}
