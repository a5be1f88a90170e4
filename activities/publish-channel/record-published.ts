import { ask } from '../../db/ask.ts';
import { endAnew, endCancelled } from '../../db/end-anew.ts';
import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import { markLive, valuesOfLive } from './ledger-marks.ts';
import { closeCircuit } from './server-circuit.ts';
import { leavePlace, placeValues } from './server-place.ts';
import type { PublishTarget } from './target.ts';

/** Where the parts of a thread are. */
export type Live = {
  readonly sent: readonly SentPart[];
  /** Those of them of which the ledger does not say so yet. */
  readonly last: readonly Entry[];
};

/**
 * The channel has its post, and the ledger the parts that were sent last: one statement says both, and before it a try
 * would ask the network. The address of a thread is that of its first part. What went out is what the ledger says,
 * since the post may have been edited between a send and the try that found out what became of it.
 *
 * The post may have ended without this, when a worker was silent for so long that nobody waited for it any more. Then
 * it ends anew, and a second final event says so.
 */
export async function recordPublished(
  deps: ActivityDeps,
  target: PublishTarget,
  { sent: [first], last }: Live,
): Promise<void> {
  const now = deps.now();
  if (!(await recordInTime(deps, target, { first, last }, now))) {
    await recordLate(deps, target, first, now);
  }
}

type End = { readonly first: SentPart | undefined; readonly last: readonly Entry[] };

/** What a channel becomes at $1. Of the text, the ledger knows which went out. */
const published = `status = 'published', error = null, error_code = null, retry_at = null,
  published_at = coalesce(pc.published_at, $1)`;
const sentText = `(select text from post_parts a where a.post_channel_id = pc.id
  and a.workspace_id = pc.workspace_id and a.part = 0 and a.state = 'sent' order by a.run desc limit 1)`;

/**
 * While the post waits for its channels. The place at the server is free again in any case.
 *
 * @returns false when it does not wait any more.
 */
async function recordInTime(
  deps: ActivityDeps,
  target: PublishTarget,
  { first, last }: End,
  now: Date,
): Promise<boolean> {
  const { workspaceId, postId, postChannelId } = target;
  const text = last.find(({ part }) => part === 0)?.text;
  // The channel's row hangs on the post's, so the post is locked first, as everybody locks them.
  const [recorded] = await ask<{ channels: number }>(
    deps.orm.em.fork(),
    `with post as (
       update posts set published_at = coalesce(published_at, $1), updated_at = $1
       where id = $6 and workspace_id = $2 and status = 'publishing' returning id),
     channel as (
       update post_channels pc set ${published}, url = $8, sent_text = coalesce($9, ${sentText})
       from post where pc.id = $7 and pc.workspace_id = $2 and pc.post_id = post.id returning pc.id),
     live as (${markLive}),
     place as (${leavePlace(10, 'true')}),
     circuit as (${closeCircuit(10)})
     select count(*)::int as channels from channel`,
    [
      now,
      workspaceId,
      ...valuesOfLive(last),
      postId,
      postChannelId,
      first?.url,
      text,
      ...placeValues(target),
    ],
  );
  return recorded?.channels === 1;
}

async function recordLate(
  deps: ActivityDeps,
  { workspaceId, postId, postChannelId }: PublishTarget,
  first: SentPart | undefined,
  now: Date,
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    // The post before its channel, as everybody locks them: two that wait for each other would both be stuck.
    const [post] = await ask<{ status: string }>(
      em,
      `update posts set published_at = coalesce(published_at, $1), updated_at = $1
       where id = $2 and workspace_id = $3 returning status`,
      [now, postId, workspaceId],
    );
    const [was] = await ask<{ status: string }>(
      em,
      `update post_channels pc set ${published}, url = $2, sent_text = ${sentText}
       from (select id, status from post_channels where id = $3 and workspace_id = $4 for update) was
       where pc.id = was.id and pc.workspace_id = $4 returning was.status`,
      [now, first?.url, postChannelId, workspaceId],
    );
    const hasEnded = post?.status === 'failed' || post?.status === 'published';
    const scope = { workspaceId, postId };
    if (hasEnded && was && was.status !== 'published') {
      await endAnew(em, scope, { publicUrl: deps.publicUrl, now });
    }

    await endCancelled(em, scope, { publicUrl: deps.publicUrl, now });
  });
}
