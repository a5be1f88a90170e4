import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { nextTry } from '../../domain/next-try.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import type { Em } from '../../db/orm.ts';
import { whatFollows, whatToDo } from '../../domain/what-follows.ts';
import type { ActivityDeps } from '../deps.ts';
import { readLedger, type Entry } from './ledger.ts';
import { isReconnected, loseAccess, withNewAccess } from './lose-access.ts';
import { park } from './park.ts';
import type { Setback } from './setback.ts';
import type { PublishTarget } from './target.ts';

export type Recorded =
  | { readonly kind: 'retry'; readonly atMs: number; readonly code: ChannelErrorCode }
  | {
      readonly kind: 'final';
      readonly status: ChannelStatus;
      /** Why it has no post; null when it was stopped. */
      readonly code: ChannelErrorCode | null;
      readonly deliveryIds: readonly string[];
    };

type Failure = {
  /** For the user: what happened. */
  readonly message: string;
  readonly code: ChannelErrorCode;
  /** A request may have arrived: nobody can say that nothing came of it. */
  readonly isOpen: boolean;
};

/**
 * Writes down why a try failed and what follows from it: another try at its time, or the channel's end. A
 * channel that another try has ended meanwhile keeps what it has, and one whose post was cancelled has no other try.
 */
export async function recordFailure(
  deps: ActivityDeps,
  target: PublishTarget,
  heard: Setback,
): Promise<Recorded> {
  const failure = { code: heard.code, retryAtMs: heard.retryAtMs };
  const planned = nextTry(failure, target.tries, target.dueAt.getTime(), deps.now().getTime());
  const entries = await readLedger(deps, target);
  const isOpen = entries.some(({ state }) => state === 'sending' || state === 'unknown');
  return deps.orm.em.fork().transactional(async (em): Promise<Recorded> => {
    // The post before its channel, as everybody locks them: a cancel comes before this or after it.
    const [post] = await em.execute<{ status: string }[]>(
      'select status from posts where id = ? and workspace_id = ? for share',
      [target.postId, target.workspaceId],
    );
    const isOld = heard.code === 'access_lost' && (await isReconnected(em, target));
    const { setback, next } = isOld ? withNewAccess(deps) : { setback: heard, next: planned };
    const { code } = setback;
    const message = describe(setback.message, entries);
    if (next.kind === 'give_up') {
      const status = await recordEnd(em, target, { message, isOpen, code: next.code });
      if (code === 'rate_limited' && setback.retryAtMs !== undefined) {
        await park(em, target, setback.limit, new Date(setback.retryAtMs));
      }

      const deliveryIds =
        code === 'access_lost'
          ? await loseAccess(em, deps, target, `${setback.message} Connect the channel again.`)
          : [];
      return { kind: 'final', status, code: endCode(status, next.code), deliveryIds };
    }

    if (post?.status !== 'publishing') {
      const end = post?.status === 'scheduled' ? 'scheduled' : 'draft';
      const status = await recordStop(em, target, end, { message, isOpen, code });
      return { kind: 'final', status, code: endCode(status, null), deliveryIds: [] };
    }

    await recordRetry(em, target, { ...next, code, message });
    if (code === 'rate_limited') {
      await park(em, target, setback.limit, new Date(next.atMs));
    }

    return { kind: 'retry', atMs: next.atMs, code };
  });
}

const endCode = (status: ChannelStatus, code: ChannelErrorCode | null): ChannelErrorCode | null =>
  status === 'unconfirmed' ? 'unconfirmed' : code;

/** Whatever the error was: while a request may have arrived, nobody can say that it failed. */
async function recordEnd(
  em: Em,
  target: PublishTarget,
  { message, code, isOpen }: Failure,
): Promise<ChannelStatus> {
  const status = isOpen ? 'unconfirmed' : 'failed';
  await em.execute(
    `update post_channels set status = ?, error = ?, error_code = ?, retry_at = null, url = null,
       tries = tries + 1
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [
      status,
      isOpen ? unconfirmed(message) : `${message} ${whatFollows(code, null)}`,
      isOpen ? 'unconfirmed' : code,
      target.postChannelId,
      target.workspaceId,
    ],
  );
  return status;
}

/** The post was cancelled while it was being sent, and perhaps scheduled anew: this publishing tries no more. */
async function recordStop(
  em: Em,
  target: PublishTarget,
  status: 'draft' | 'scheduled',
  failure: Failure,
): Promise<ChannelStatus> {
  if (failure.isOpen) {
    return recordEnd(em, target, failure);
  }

  await em.execute(
    `update post_channels set status = ?, error = null, error_code = null, retry_at = null
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [status, target.postChannelId, target.workspaceId],
  );
  return status;
}

async function recordRetry(
  em: Em,
  target: PublishTarget,
  retry: { atMs: number; counts: boolean; code: ChannelErrorCode; message: string },
): Promise<void> {
  const { counts, code, atMs } = retry;
  await em.execute(
    `update post_channels set status = 'retrying', error = ?, error_code = ?, retry_at = ?, tries = tries + ?
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [
      `${retry.message} ${whatFollows(code, atMs)}`,
      code,
      new Date(atMs),
      counts ? 1 : 0,
      target.postChannelId,
      target.workspaceId,
    ],
  );
}

/** Says which part of a thread it was, and where those before it are. */
function describe(message: string, entries: readonly Entry[]): string {
  const live = entries.flatMap(({ sent }) => (sent === null ? [] : [sent.url]));
  if (live.length === 0) {
    return message;
  }

  return `Part ${live.length + 1} of ${entries.length} did not go out: ${message} (The part${live.length > 1 ? 's' : ''} before it: ${live.join(' ')})`;
}

const unconfirmed = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, and what became of that could not be found out. (${message}) ${whatToDo.unconfirmed}`;
