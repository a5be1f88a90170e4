import { ConnectLink } from '../../db/entities/channels.ts';
import { AppError } from '../../domain/errors.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';

export const linkStatuses = ['pending', 'connected', 'failed', 'expired'] as const;

/** A link as the caller who created it sees it. */
type LinkView = {
  readonly id: string;
  readonly status: (typeof linkStatuses)[number];
  readonly channel_ids: readonly string[];
  readonly error: string | null;
  readonly error_code: string | null;
  readonly platform: string;
  readonly expires_at: string;
};

/** @throws AppError `not_found` */
export async function readLink(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  { workspaceId, channelIds }: Pick<Caller, 'workspaceId' | 'channelIds'>,
  id: string,
): Promise<LinkView> {
  const link = await orm.em.fork().findOne(ConnectLink, { id, workspaceId });
  // A key that is restricted to channels sees the links for these only.
  const isForeign = channelIds !== null && !channelIds.includes(link?.channelId ?? '');
  if (!link || isForeign) {
    const message = `There is no link "${id}". Links are deleted an hour after they have expired.`;
    throw new AppError('not_found', message);
  }

  const { platform, connectedId, error, errorCode, expiresAt } = link;
  return {
    id,
    status: statusOf(link, now()),
    channel_ids: connectedId === null ? [] : [connectedId],
    error,
    error_code: errorCode,
    platform,
    expires_at: expiresAt.toISOString(),
  };
}

function statusOf({ status, expiresAt }: ConnectLink, now: Date): LinkView['status'] {
  if (status === 'connected' || status === 'failed') {
    return status;
  }

  return expiresAt > now ? 'pending' : 'expired';
}
