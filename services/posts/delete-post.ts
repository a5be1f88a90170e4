import { sql } from 'kysely';
import { recordAudit } from '../../db/audit.ts';
import { isUnderWay, lockChannels, stopChannels } from '../../db/channel-status.ts';
import { detachParts } from '../../db/ledger/outcomes.ts';
import { hasPossiblyLivePart, openInSql } from '../../db/ledger/parts.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { bytesOfPost } from '../../db/quotas.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostView } from '../../domain/post-view.ts';
import { isFinal } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import { longestAppearanceMs } from '../../networks/content-rules.ts';
import type { PostChange, PostScope } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { expireKey } from '../idempotency.ts';
import { nameOfChannel } from './choose-channels.ts';
import { lockPost, postNotFound } from './read-posts.ts';

/** A post that stays on its network. */
type Live = {
  readonly channel_id: string;
  readonly platform: string;
  /** Null if it is unknown. */
  readonly url: string | null;
  /** False: the network may or may not have the post. */
  readonly confirmed: boolean;
};

type DeleteDeps = Pick<ServiceDeps, 'orm' | 'now' | 'rules' | 'publicUrl'>;

type Deleted = {
  readonly live: readonly Live[];
  /** As it was before. */
  readonly post: PostView;
  /** Null for a post that had ended: it has no workflow. */
  readonly toSync: PostToSync | null;
};

/**
 * Cancels a post if necessary and deletes it with its results and metrics. Nothing is sent afterwards: an attempt reads
 * the rows of the post and its channel under their locks before each request. A workflow that does not receive the
 * cancel finds no post at its time and ends.
 *
 * Events and their deliveries stay, and so do live parts in the ledger, which no other post may claim.
 *
 * @throws AppError `not_found`; `post_being_sent` while the outcome of a request is not known yet.
 */
export async function deletePost(deps: DeleteDeps, change: PostChange): Promise<Deleted> {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  return deps.orm.em.fork().transactional(async (em) => {
    const { status } = await lockPost(em, change);
    const statuses = await lockChannels(em, scope);
    if (status === 'publishing' && statuses.every(isFinal)) {
      throw beingSent(
        'The post is ending: its final event is being recorded. Try again in a moment.',
      );
    }

    const post = await loadPostView(em, workspaceId, postId, deps);
    if (!post) {
      throw postNotFound(postId);
    }

    const isOpen = status === 'scheduled' || status === 'publishing';
    if (isOpen) {
      await stopChannels(em, scope);
    }

    const channels = await readChannels(em, scope, longestAppearanceMs(deps.rules));
    assertNoneBeingSent(postId, channels);
    assertNoneBeingRemoved(channels);
    if (isOpen) {
      await recordCancel(em, scope, deps);
    }

    const revision = await deleteRows(em, scope, channels, deps.now());
    await recordAudit(em, change, 'post.deleted', postId);
    return {
      live: channels.flatMap(liveOf),
      post,
      toSync:
        isOpen || status === 'draft'
          ? { ...scope, status: 'draft', revision: revision + 1, dueAt: null }
          : null,
    };
  });
}

async function recordCancel(em: Em, scope: PostScope, deps: DeleteDeps): Promise<void> {
  const { workspaceId, postId } = scope;
  await query(
    em,
    sql`update posts set status = 'draft', scheduled_at = null, updated_at = ${deps.now()}
        where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  await recordPostEvent(em, scope, 'post.cancelled', deps);
}

type Channel = {
  readonly id: string;
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  readonly url: string | null;
  readonly is_being_sent: boolean;
  readonly is_being_removed: boolean;
  readonly is_live: boolean;
  readonly may_be_live: boolean;
};

/** @param appearsWithinMs Within this time of a request its post may still appear. */
const readChannels = (
  em: Em,
  { workspaceId, postId }: PostScope,
  appearsWithinMs: number,
): Promise<Channel[]> =>
  query(
    em,
    sql<Channel>`
      select pc.id, pc.channel_id, c.platform, c.handle, coalesce(pc.url, sent.url) as url,
        ${isUnderWay} or exists (select 1 from post_parts pp
          where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and ${openInSql('pp')}
            and pp.sending_at > clock_timestamp() - ${appearsWithinMs}::int * interval '1 millisecond') as is_being_sent,
        p.is_being_removed,
        pc.gone_at is null and (pc.status = 'published' or sent.parts > 0) as is_live,
        pc.gone_at is null and (pc.status = 'unconfirmed' or ${hasPossiblyLivePart}) as may_be_live
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      cross join lateral (
        select count(*) as parts, (array_agg(pp.url order by pp.part))[1] as url from post_parts pp
        where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent') sent
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );

/** @throws AppError `post_being_sent` */
function assertNoneBeingSent(postId: string, channels: readonly Channel[]): void {
  const names = channels
    .filter((channel) => channel.is_being_sent)
    .map(({ channel_id: id, platform, handle }) => nameOfChannel({ id, platform, handle }));
  if (names.length > 0) {
    throw beingSent(
      `The post is being sent on ${names.join(', ')}, or a request of the last five minutes may still publish it there. Try again in a few minutes; POST /posts/${postId}/cancel stops channels that have not begun.`,
    );
  }
}

/** Its workflow would find no post, and leave it on the network. @throws AppError `post_being_sent` */
function assertNoneBeingRemoved(channels: readonly Channel[]): void {
  if (channels.some((channel) => channel.is_being_removed)) {
    throw beingSent(
      'The post is being removed from its networks. Delete it after the event post.unpublished.',
    );
  }
}

const beingSent = (message: string): AppError => new AppError('post_being_sent', message);

const liveOf = ({ channel_id, platform, url, is_live, may_be_live }: Channel): Live[] =>
  is_live || may_be_live ? [{ channel_id, platform, url, confirmed: is_live }] : [];

/** @returns the last revision of the post. */
async function deleteRows(
  em: Em,
  scope: PostScope,
  channels: readonly Channel[],
  now: Date,
): Promise<number> {
  const { workspaceId, postId } = scope;
  const channelRows = channels.map(({ id }) => id);
  await detachParts(em, workspaceId, channelRows, now);
  await query(
    em,
    sql`update workspaces set text_used = greatest(0, text_used - (
          select ${bytesOfPost} from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}))
        where id = ${workspaceId}`,
  );
  await query(
    em,
    sql`delete from post_media where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
  await query(
    em,
    sql`delete from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
  const [post] = await query(
    em,
    sql<{ revision: number }>`
      delete from posts where id = ${postId} and workspace_id = ${workspaceId} returning revision`,
  );
  // Last, the order in which the creation of a post locks: workspace, then key.
  await expireKey(em, scope, now);
  return post?.revision ?? 0;
}
