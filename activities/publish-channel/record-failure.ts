import { type ChannelErrorCode, failureAdvice } from '../../domain/channel-error.ts';
import { limitEndMs, nextLook, nextTry, type NextTry } from '../../domain/next-try.ts';
import type { ChannelStatus, PostStatus } from '../../domain/post-status.ts';
import type { Em } from '../../db/orm.ts';
import { endCancelled } from '../../db/end-anew.ts';
import type { ActivityDeps } from '../deps.ts';
import { describe, inDoubt, unconfirmed } from './failure-words.ts';
import { isOpen, type Entry } from './ledger.ts';
import { lockLedger } from './lock-ledger.ts';
import { isReconnected, loseAccess, withNewAccess } from './lose-access.ts';
import { park } from './park.ts';
import { SupersededError, type Setback } from './setback.ts';
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
  readonly isInDoubt: boolean;
};

/**
 * Writes down why a try failed and what follows from it: another try at its time, another look at what is in doubt, or
 * the channel's end. A channel that another try has ended meanwhile keeps what it has. Of a post that was cancelled it
 * goes on while part of it is, or may be, on the network. One that has another time by now is sent then, whatever became
 * of the old send: what is in doubt of that is looked for first.
 *
 * @param known The ledger as the try began.
 */
export async function recordFailure(
  deps: ActivityDeps,
  target: PublishTarget,
  heard: Setback,
  known: readonly Entry[],
): Promise<Recorded> {
  return deps.orm.em.fork().transactional(async (em): Promise<Recorded> => {
    const { status, entries } = await lockLedger(em, deps, target);
    const planned = whatNext(deps, target, heard, { known, entries });
    const isInDoubt = entries.some(isOpen);
    const isOut = entries.some((entry) => entry.state === 'sent' || isOpen(entry));
    const isOld = heard.code === 'access_lost' && (await isReconnected(em, target));
    const { setback, next } = isOld ? withNewAccess(deps) : { setback: heard, next: planned };
    const failure = { message: describe(setback.message, entries), isInDoubt, code: setback.code };
    const goesOn = status === 'publishing' || (status === 'draft' && isOut);
    if (next.kind === 'retry' && !goesOn) {
      const stopped = await stop(em, target, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds: [] };
    }

    const deliveryIds = await tellAll(em, deps, target, setback, next);
    if (status === 'scheduled') {
      const stopped = await stop(em, target, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds };
    }

    if (next.kind === 'retry') {
      await recordRetry(em, target, { ...next, ...failure });
      return { kind: 'retry', atMs: next.atMs, code: setback.code };
    }

    const end = await recordEnd(em, target, { ...failure, code: next.code });
    await endCancelled(em, target, { publicUrl: deps.publicUrl, now: deps.now() });
    return { kind: 'final', status: end, code: endCode(end, next.code), deliveryIds };
  });
}

type Ledgers = { readonly known: readonly Entry[]; readonly entries: readonly Entry[] };

function whatNext(
  deps: ActivityDeps,
  { tries, dueAt }: PublishTarget,
  { code, retryAtMs }: Setback,
  { known, entries }: Ledgers,
): NextTry {
  const [dueAtMs, nowMs] = [dueAt.getTime(), deps.now().getTime()];
  const open = entries.filter(isOpen);
  if (open.length === 0) {
    return nextTry({ code, retryAtMs }, tries, dueAtMs, nowMs);
  }

  const wasOpen = (entry: Entry): boolean =>
    known.some(
      ({ id, sendingAt }) => id === entry.id && sendingAt?.getTime() === entry.sendingAt?.getTime(),
    );
  const openForMs = Math.min(...open.map(({ sendingForMs }) => sendingForMs ?? Infinity));
  return nextLook({ code, retryAtMs, openForMs, isSend: !open.every(wasOpen) }, dueAtMs, nowMs);
}

/**
 * A try found that nothing of a post that was cancelled is out.
 *
 * @returns what its channel is.
 * @throws SupersededError when something has gone out since: the next try finishes that.
 */
export const recordStopped = (deps: ActivityDeps, target: PublishTarget): Promise<ChannelStatus> =>
  deps.orm.em.fork().transactional(async (em) => {
    const { status, entries } = await lockLedger(em, deps, target);
    if (status === 'publishing' || entries.some(isOpen)) {
      throw new SupersededError('Another try is sending, or is to send what the post says now.');
    }

    return stop(em, target, status);
  });

/** What a failure means for others: a limit holds for all posts that it was met for, and lost access is told of. */
async function tellAll(
  em: Em,
  deps: ActivityDeps,
  target: PublishTarget,
  { code, message, retryAtMs, limit }: Setback,
  next: NextTry,
): Promise<readonly string[]> {
  if (code === 'rate_limited' && (next.kind === 'retry' || retryAtMs !== undefined)) {
    await park(
      em,
      target,
      limit,
      new Date(limitEndMs(retryAtMs, target.dueAt.getTime(), deps.now().getTime())),
    );
  }

  const starts = next.kind === 'retry' ? 'outbox' : 'workflow';
  return code === 'access_lost'
    ? loseAccess(em, deps, target, `${message} Connect the channel again.`, starts)
    : [];
}

const endCode = (status: ChannelStatus, code: ChannelErrorCode | null): ChannelErrorCode | null =>
  status === 'unconfirmed' ? 'unconfirmed' : code;

/** Whatever the error was: while a request may have arrived, nobody can say that it failed. */
async function recordEnd(
  em: Em,
  target: PublishTarget,
  { message, code, isInDoubt }: Failure,
): Promise<ChannelStatus> {
  const status = isInDoubt ? 'unconfirmed' : 'failed';
  await em.execute(
    `update post_channels set status = ?, error = ?, error_code = ?, retry_at = null, url = null,
       tries = tries + 1
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [
      status,
      isInDoubt ? unconfirmed(message) : `${message} ${failureAdvice(code, null)}`,
      isInDoubt ? 'unconfirmed' : code,
      target.postChannelId,
      target.workspaceId,
    ],
  );
  return status;
}

/** The post was cancelled, and perhaps scheduled anew. A send that is in doubt is looked for when that is due. */
async function stop(
  em: Em,
  target: PublishTarget,
  post: PostStatus | undefined,
): Promise<ChannelStatus> {
  const status = post === 'scheduled' ? 'scheduled' : 'draft';
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
  retry: Failure & { readonly atMs: number; readonly counts: boolean },
): Promise<void> {
  const { counts, code, atMs, message, isInDoubt } = retry;
  await em.execute(
    `update post_channels set status = 'retrying', error = ?, error_code = ?, retry_at = ?, tries = tries + ?
     where id = ? and workspace_id = ? and status in ('publishing', 'retrying')`,
    [
      isInDoubt ? inDoubt(message, code, atMs) : `${message} ${failureAdvice(code, atMs)}`,
      code,
      new Date(atMs),
      counts ? 1 : 0,
      target.postChannelId,
      target.workspaceId,
    ],
  );
}
