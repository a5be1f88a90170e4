import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { nextTry } from '../../domain/next-try.ts';
import type { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { readLedger, type Entry } from './ledger.ts';
import { loseAccess } from './lose-access.ts';
import type { PublishTarget } from './target.ts';

export type Recorded =
  | { readonly kind: 'retry'; readonly atMs: number; readonly code: ChannelErrorCode }
  | {
      readonly kind: 'final';
      readonly status: 'failed' | 'unconfirmed';
      readonly deliveryIds: readonly string[];
    };

/**
 * Writes down why a try failed and what follows from it: another try at its time, or the channel's end. A
 * channel that another try has ended meanwhile, or that was cancelled, keeps what it has.
 */
export async function recordFailure(
  deps: ActivityDeps,
  target: PublishTarget,
  error: NetworkError,
): Promise<Recorded> {
  const nowMs = deps.now().getTime();
  const next = nextTry(error, target.tries, target.dueAt.getTime(), nowMs);
  const entries = await readLedger(deps, target);
  const message = describe(error.message, entries);
  if (next.kind === 'retry') {
    await recordRetry(deps, target, { ...next, code: error.code, message });
    return { kind: 'retry', atMs: next.atMs, code: error.code };
  }

  // Whatever the error was: while a request may have arrived, nobody can say that it failed.
  const open = entries.some(({ state }) => state === 'sending' || state === 'unknown');
  const deliveryIds =
    error.code === 'access_lost' ? await loseAccess(deps, target, error.message) : [];
  const status = open ? 'unconfirmed' : 'failed';
  await deps.orm.em.fork().execute(
    `update post_channels set status = ?, error = ?, error_code = ?, retry_at = null, url = null,
       tries = tries + 1
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [
      status,
      open ? unconfirmed(message) : message,
      open ? 'unconfirmed' : next.code,
      target.postChannelId,
      target.workspaceId,
    ],
  );
  return { kind: 'final', status, deliveryIds };
}

async function recordRetry(
  deps: ActivityDeps,
  target: PublishTarget,
  retry: { atMs: number; counts: boolean; code: ChannelErrorCode; message: string },
): Promise<void> {
  const at = new Date(retry.atMs);
  const em = deps.orm.em.fork();
  await em.execute(
    `update post_channels set status = 'retrying', error = ?, error_code = ?, retry_at = ?, tries = tries + ?
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [retry.message, retry.code, at, retry.counts ? 1 : 0, target.postChannelId, target.workspaceId],
  );
  if (retry.code === 'rate_limited') {
    await em.execute(
      `update channels set parked_until = greatest(parked_until, ?) where id = ? and workspace_id = ?`,
      [at, target.channelId, target.workspaceId],
    );
  }
}

/** Says which part of a thread it was, and where those before it are. */
function describe(message: string, entries: readonly Entry[]): string {
  const live = entries.flatMap(({ sent }) => (sent === null ? [] : [sent.url]));
  if (live.length === 0) {
    return message;
  }

  return `Part ${live.length + 1} of ${entries.length} did not go out: ${message} The part${live.length > 1 ? 's' : ''} before it: ${live.join(' ')}`;
}

const unconfirmed = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, and what became of that could not be found out. Look at the account before you send it again. (${message})`;
