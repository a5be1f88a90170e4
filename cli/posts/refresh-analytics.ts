import { refreshPost } from '../../api/analytics/refresh.ts';
import { AppError } from '../../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { findPost, leaveToRelay } from './find-post.ts';

/** @throws AppError as the API's call does, also when no channel has published the post. */
export async function refreshAnalytics(
  { orm, em, now, networks: { rules } }: CommandDeps,
  { POST: given = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const { postId, workspaceId } = await findPost(em, given);
  const deps = { orm, now, rules, refreshPost: leaveToRelay };
  const channels = await refreshPost(deps, workspaceId, postId);
  if (channels.length === 0) {
    throw new AppError(
      'not_found',
      `No channel has published post ${postId}: there are no metrics.`,
    );
  }

  const lines = channels.map(
    ({ channel_id: id, platform, refresh, next_at: nextAt }) =>
      `${platform}, channel ${id}: ${messages[refresh]}${nextAt && refresh !== 'queued' ? `; next at ${nextAt}` : ''}`,
  );
  return { text: lines.join('\n'), data: { post_id: postId, workspace_id: workspaceId, channels } };
}

const messages = {
  queued:
    'read within five minutes, within the network’s limits, while the worker and Temporal run',
  not_yet: 'read a moment ago, or delayed by a rate limit or a network that is read less often',
  gone: 'the post no longer exists on the network',
  not_read: 'cannot be read: the channel needs reconnecting, or the post was settled by hand',
} as const;
