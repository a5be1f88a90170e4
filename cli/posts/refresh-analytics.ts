import { refreshPost } from '../../api/analytics/refresh.ts';
import { AppError } from '../../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { findPost, leaveToRelay } from './find-post.ts';

/** @throws AppError as the API's call, which this is; also when nothing of the post is published. */
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
      `${platform}, channel ${id}: ${words[refresh]}${nextAt && refresh !== 'queued' ? `; next at ${nextAt}` : ''}`,
  );
  return { text: lines.join('\n'), data: { post_id: postId, workspace_id: workspaceId, channels } };
}

const words = {
  queued:
    'read within five minutes, as far as the network lets us, while the worker and Temporal run',
  not_yet: 'was read a moment ago, or its network has a limit or is asked less often',
  gone: 'the post is not there any more',
  not_read: 'cannot be read: connect the channel again, or a person said where the post is',
} as const;
