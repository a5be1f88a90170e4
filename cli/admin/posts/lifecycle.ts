import { sql, type RawBuilder } from 'kysely';
import { retryPost } from '../../../services/posts/retry-post.ts';
import { settlePost } from '../../../services/posts/settle-post.ts';
import { loadPostView } from '../../../db/load-post-view.ts';
import type { Em } from '../../../db/orm.ts';
import { query } from '../../../db/query.ts';
import { AppError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/json-schema.ts';
import { text, toggle } from '../../flags.ts';
import { adminCommand } from '../command.ts';
import { oneLine } from '../../table.ts';

export const postArgs = { post: 'Its id, or that of its workflow' };

/** Has the errors of the API's call. */
export const retryOne = adminCommand({
  brief: 'Sends a post again to its failed channels, never to an unconfirmed one',
  args: postArgs,
  run: async ({ orm, em, now }, { post }) => {
    const { postId, ...caller } = await findPost(em, post);
    assertHasPlan(caller);
    const { retrying } = await retryPost({ orm, now }, caller, postId);
    const channels = `${retrying.length} ${retrying.length === 1 ? 'channel' : 'channels'}`;
    return {
      text: `Post ${postId} is sent again to ${channels}: ${retrying.join(', ')}\n${syncedSoon}`,
      data: { post_id: postId, workspace_id: caller.workspaceId, retrying },
    };
  },
});

/** Has the errors of the API's call. */
export const settleOne = adminCommand({
  brief: 'Settles an unconfirmed channel',
  args: { ...postArgs, channel: 'A channel of the post' },
  flags: {
    published: text('The post is on the network, here', 'URL'),
    notPublished: toggle('The post is not on the network'),
  },
  oneOf: ['published', 'notPublished'],
  run: async ({ orm, em, now, publicUrl, networks }, { post, channel: channelId, published }) => {
    const { postId, workspaceId } = await findPost(em, post);
    const deps = { orm, now, publicUrl, networks, rules: networks.rules };
    const settlement = { channelId, url: published ?? null };
    await settlePost(deps, { workspaceId, postId }, settlement);

    const view = await loadPostView(orm.em.fork(), workspaceId, postId, deps);
    const channel = view?.channels.find((one) => one.channel_id === channelId);
    const hasEnded = view?.status === 'published' || view?.status === 'failed';
    const next = hasEnded
      ? 'Its webhooks get a new final event within a second, or as soon as the worker and Temporal run.'
      : 'Its webhooks get its final event when the post ends.';
    const how = [channel?.status, channel?.url, channel?.error].filter(Boolean).join(': ');
    return {
      text: `Channel ${channelId} is ${oneLine(how)}\nPost ${postId} is ${view?.outcome ?? view?.status}. ${next}`,
      data: { post: view },
    };
  },
});

/** @throws AppError `plan_required`, with the command that helps. */
function assertHasPlan({ workspaceId, plan }: Omit<OperatedPost, 'postId'>): void {
  if (plan === null) {
    const message = `Workspace ${workspaceId} has no plan, so its posts cannot be retried. Set one with "npm run admin -- workspace plan ${workspaceId} standard".`;
    throw new AppError('plan_required', message);
  }
}

/** A post and its workspace. */
export type OperatedPost = {
  readonly postId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
};

/** SQL: the recorded changes of a post, also of a deleted one. */
export const changesOf = (postId: string, actions: string) => sql<{ at: Date; what: string }>`
  select a.at, 'the post was ' || substr(a.action, 6) || ' (' || replace(a.actor, '_', ' ')
    || coalesce(' …' || k.last_four, '') || ')' as what
  from audit_log a left join api_keys k on k.id = a.actor_id and k.workspace_id = a.workspace_id
  where a.object_id = ${postId} and a.action like ${actions}`;

/** Finds a post in any workspace by its id or its workflow's id. @throws AppError `not_found` */
export async function findPost(em: Em, given: string): Promise<OperatedPost> {
  const postId = given.replace(/^post-/v, '');
  const one = <Row extends object>(rows: RawBuilder<Row>): Promise<Row[]> =>
    isId(postId) ? query(em, rows) : Promise.resolve([]);
  const [row] = await one(sql<{ workspace_id: string; plan: string | null }>`
    select p.workspace_id, w.plan from posts p join workspaces w on w.id = p.workspace_id
    where p.id = ${postId}`);
  if (!row) {
    const [end] = await one(changesOf(postId, 'post.deleted'));
    const hint = end
      ? `: ${end.what} at ${end.at.toISOString()}.`
      : '; "npm run admin -- post list --failed" and the API show post ids.';
    throw new AppError('not_found', `There is no post "${given}"${hint}`);
  }

  return { postId, workspaceId: row.workspace_id, plan: row.plan };
}

/**
 * Commands write only the database, so that they work while Temporal is unavailable: the changed row is in the outbox,
 * and the relay syncs it.
 */
export const syncedSoon =
  'The worker syncs it with Temporal within a second, or as soon as both of them run.';
