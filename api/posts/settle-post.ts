import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError } from '../../domain/errors.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import type { Em } from '../../db/orm.ts';
import type { ApiDeps } from '../deps.ts';
import { isId } from '../../domain/is-id.ts';
import { endAnew, endIfPublished } from '../../db/end-anew.ts';
import { mustBeSettledSo, type SettledRow } from './settled-already.ts';
import { mustBeNobodyElses } from './settled-elsewhere.ts';
import { lockLedger, settleAsRefused, settleAsSent, type LedgerView } from './settle-ledger.ts';
import { settledUrl } from './settled-url.ts';
import { absentSentence, shortThreadSentence } from './settled-words.ts';

export type SettleDeps = Pick<ApiDeps, 'orm' | 'now' | 'publicUrl' | 'syncDelivery'>;

/** What somebody found who looked at the account. */
export type Settlement = {
  readonly channelId: string;
  /** Where the post is; null when it is not there. */
  readonly url: string | null;
};

type Scope = { readonly workspaceId: string; readonly postId: string };
type Outcome = {
  readonly status: ChannelStatus;
  readonly url: string | null;
  readonly code: ChannelErrorCode | null;
  readonly error: string | null;
  readonly publishedAt: Date | null;
};
/**
 * How long a network may still be writing a post that it was asked for, in milliseconds: the longest `appearsWithinMs` of
 * all networks. Until then "it is not there" may become untrue, and a retry would send it twice.
 */
export const stillArrivingMs = 60_000;

/**
 * Ends the doubt about an unconfirmed channel by the word of somebody who looked. A post that has ended ends anew, with
 * a new event; one that was cancelled, and that every channel has now, ends as published; any other hears of it at its own
 * end. Safe to repeat with the same answer.
 *
 * @throws AppError `invalid_request`, `not_found`, `invalid_channel_ids` or `nothing_to_settle`.
 */
export async function settlePost(
  deps: SettleDeps,
  scope: Scope,
  { channelId, url: given }: Settlement,
): Promise<void> {
  const url = given === null ? null : settledUrl(given);
  const now = deps.now();
  const deliveryIds = await deps.orm.em.fork().transactional(async (em) => {
    const post = await lockPost(em, scope);
    const channel = await lockChannel(em, scope, channelId);
    if (channel.status !== 'unconfirmed') {
      await mustBeSettledSo(em, scope.workspaceId, channel, url);
      return [];
    }

    if (url !== null) {
      await mustBeNobodyElses(em, { ...scope, channelId, postChannelId: channel.id }, url);
    }

    await writeOutcome(em, scope, channel.id, await settle(em, scope, channel.id, url, now), now);
    const hasEnded = post.status === 'failed' || post.status === 'published';
    const end = hasEnded ? endAnew : endIfPublished;
    return end(em, scope, { publicUrl: deps.publicUrl, now });
  });
  for (const deliveryId of deliveryIds) {
    deps.syncDelivery({ workspaceId: scope.workspaceId, deliveryId, round: 1 });
  }
}

async function lockPost(em: Em, { workspaceId, postId }: Scope): Promise<{ status: string }> {
  const [post] = await em.execute<{ status: string }[]>(
    'select status from posts where id = ? and workspace_id = ? for update',
    [postId, workspaceId],
  );
  if (!post) {
    throw new AppError('not_found', `There is no post "${postId}".`);
  }

  return post;
}

async function lockChannel(
  em: Em,
  { workspaceId, postId }: Scope,
  channelId: string,
): Promise<SettledRow> {
  const [channel] = isId(channelId)
    ? await em.execute<SettledRow[]>(
        `select id, status, url, error_code, settled_at is not null as is_settled from post_channels
         where post_id = ? and workspace_id = ? and channel_id = ? for update`,
        [postId, workspaceId, channelId],
      )
    : [];
  if (!channel) {
    const message = `This post has no channel "${channelId}".`;
    const details = [{ path: '/channel_id', message }];
    throw new AppError('invalid_channel_ids', message, { details });
  }

  return channel;
}

/** Closes what the ledger has open. @returns what becomes of the channel. */
async function settle(
  em: Em,
  { workspaceId }: Scope,
  postChannelId: string,
  url: string | null,
  now: Date,
): Promise<Outcome> {
  const channel = { workspaceId, postChannelId };
  const ledger = await lockLedger(em, channel);
  if (url === null) {
    mustHaveArrived(ledger, now);
    await settleAsRefused(em, channel, now);
    return failed(absentSentence(ledger));
  }

  await settleAsSent(em, channel, url, now);
  if (ledger.missing.length > 0) {
    return failed(shortThreadSentence(ledger, url));
  }

  const publishedAt = ledger.open.at(-1)?.sendingAt ?? now;
  const first = ledger.sent.find(({ part }) => part === 0)?.url ?? url;
  return { status: 'published', url: first, code: null, error: null, publishedAt };
}

const failed = (error: string): Outcome => ({
  status: 'failed',
  url: null,
  code: 'not_published',
  error,
  publishedAt: null,
});

/** @throws AppError `nothing_to_settle` while the network may still be writing it. */
function mustHaveArrived({ open }: LedgerView, now: Date): void {
  const sendingForMs = Math.min(...open.map((part) => part.sendingForMs ?? Infinity));
  const waitMs = stillArrivingMs - sendingForMs;
  if (waitMs > 0) {
    throw new AppError(
      'nothing_to_settle',
      `The network was asked to publish a moment ago and may still be at it. Look again after ${new Date(now.getTime() + waitMs).toISOString()}.`,
    );
  }
}

async function writeOutcome(
  em: Em,
  { workspaceId, postId }: Scope,
  postChannelId: string,
  { status, url, error, code, publishedAt }: Outcome,
  now: Date,
): Promise<void> {
  await em.execute(
    `update post_channels pc set status = ?, url = ?, error = ?, error_code = ?, retry_at = null, settled_at = ?,
       published_at = ?, sent_text = case when ? = 'published' then (
         select text from post_parts a where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id
           and a.part = 0 and a.state = 'sent' order by a.run desc limit 1) end
     where id = ? and workspace_id = ?`,
    [status, url, error, code, now, publishedAt, status, postChannelId, workspaceId],
  );
  await em.execute(
    'update posts set published_at = least(published_at, ?), updated_at = ? where id = ? and workspace_id = ?',
    [publishedAt, now, postId, workspaceId],
  );
}
