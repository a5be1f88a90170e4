import { sql } from 'kysely';
import { isUnderWay, shownStatus } from '../../../db/channel-status.ts';
import type { Em } from '../../../db/orm.ts';
import { query } from '../../../db/query.ts';
import { platforms } from '../../../networks/registry.ts';
import { forEachLimit } from '../../../runtime/concurrency.ts';
import { deadlineMs, hasGrpcCode, type Temporal } from '../../../temporal/connect.ts';
import { postWorkflowId, publishQueue } from '../../../workflows/messages.ts';
import { UsageError } from '../../failures.ts';
import { text } from '../../flags.ts';
import { oneLine } from '../../table.ts';
import { adminCommand } from '../command.ts';
import { findPost, type OperatedPost } from './lifecycle.ts';

const atOnce = 20;

/** Starts the next attempt of channels that wait for it. Rate limits and the order on a channel still apply. */
export const retryNow = adminCommand({
  brief: 'Starts the next attempt of waiting channels at once',
  flags: {
    post: text('Of this post', 'POST'),
    platform: text('Of all posts on this network', 'PLATFORM'),
  },
  oneOf: ['post', 'platform'],
  run: async ({ em, openTemporal }, { post: given, platform }) => {
    if (platform !== undefined && !platforms.some((known) => known === platform)) {
      throw new UsageError(`--platform is one of ${platforms.join(', ')}, not "${platform}".`);
    }

    const post = given === undefined ? null : await findPost(em, given);
    const which = post ? sql`pc.post_id = ${post.postId}` : sql`c.platform = ${platform}`;
    const waiting = await query(
      em,
      sql<{ id: string; platform: string }>`
      select distinct pc.post_id as id, c.platform
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where (${isUnderWay} or pc.status = 'scheduled' and p.status = 'publishing') and ${which} order by pc.post_id`,
    );
    const temporal = await openTemporal();
    let started = 0;
    try {
      await forEachLimit(waiting, atOnce, async (row) => {
        const count = await startAttempts(temporal, row);
        started += count;
      });
    } finally {
      await temporal.close();
    }

    return {
      text:
        started === 0
          ? await whyNone(em, post)
          : `Started ${started} attempts. Posts under way: ${new Set(waiting.map(({ id }) => id)).size}.`,
      data: { started },
    };
  },
});

/** Names the states of the post's channels, and the next step. */
async function whyNone(em: Em, post: OperatedPost | null): Promise<string> {
  const none = 'Started no attempt: Temporal has none that waits.';
  if (!post) {
    return `${none} "npm run admin -- post list --overdue" shows why posts are late.`;
  }

  const { postId, workspaceId } = post;
  const channels = await query(
    em,
    sql<{ name: string; status: string }>`
      select c.platform || ' ' || c.handle as name, ${shownStatus} as status
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  const states = channels.map(({ name, status }) => `${oneLine(name)} is ${status}`).join(', ');
  return `${none} ${states || 'The post has no channel'}. "npm run admin -- post show ${postId}" has more; "post retry" sends failed channels again, and "post settle" ends unconfirmed ones.`;
}

/** PENDING_ACTIVITY_STATE_SCHEDULED: no attempt is under way. */
const scheduled = 1;

/** Resets by the call that servers 1.31 and 1.32 know. @returns the number of attempts that it started. */
async function startAttempts(
  { client, connection, namespace }: Temporal,
  post: { readonly id: string; readonly platform: string },
): Promise<number> {
  const workflowId = postWorkflowId(post.id);
  const { workflowService } = connection;
  try {
    return await client.withDeadline(Date.now() + deadlineMs * 5, async () => {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      const resting = (raw.pendingActivities ?? []).filter(
        ({ state, activityOptions }) =>
          state === scheduled && activityOptions?.taskQueue?.name === publishQueue(post.platform),
      );
      for (const { activityId } of resting) {
        const execution = { workflowId };
        await workflowService.resetActivity({ namespace, execution, id: activityId ?? '' });
      }

      return resting.length;
    });
  } catch (error) {
    // The workflow or the attempt has ended meanwhile.
    if (
      hasGrpcCode(error, 'notFound') ||
      (error instanceof Error && error.name === 'WorkflowNotFoundError')
    ) {
      return 0;
    }

    throw error;
  }
}
