import { sql } from 'kysely';
import { loseAccess } from '../../accounts/lose-access.ts';
import {
  failed,
  isOpenChannel,
  isUnderWay,
  retrying,
  unconfirmed,
  waiting,
} from '../../db/channel-status.ts';
import { refinalizeCancelled } from '../../db/refinalize-post.ts';
import type { Entry } from '../../db/ledger/entries.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import { isOpen, isOut } from '../../db/ledger/part-states.ts';
import { recordLimit } from '../../db/network-limits.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { canRetryLater, type ChannelErrorCode, failureAdvice } from '../../domain/channel-error.ts';
import { type NextTry, limitEndMs, nextLook, nextTry } from '../../domain/next-try.ts';
import type { ChannelStatus, PostStatus } from '../../domain/post-status.ts';
import { isReconnected } from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  describePart,
  inDoubtText,
  unconfirmedText,
  type PublishFailure,
} from './classify-error.ts';
import type { PublishJob } from './job.ts';
import { lockLedger, type Locked } from './lock-ledger.ts';
import { withNewAccess } from './new-access.ts';

export type Recorded =
  | { readonly kind: 'retry'; readonly atMs: number; readonly code: ChannelErrorCode }
  | {
      readonly kind: 'final';
      readonly status: ChannelStatus;
      /** Why it has no post; null when it was stopped. */
      readonly code: ChannelErrorCode | null;
      readonly deliveryIds: readonly string[];
    };

type Told = {
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
  job: PublishJob,
  heard: PublishFailure,
  known: readonly Entry[],
): Promise<Recorded> {
  return deps.orm.em.fork().transactional(async (em): Promise<Recorded> => {
    const locked = await lockLedger(em, deps, job);
    const { status, entries, isDisconnected } = locked;
    const isInDoubt = entries.some(isOpen);
    const { failure: seen, next } = await follow(em, deps, job, { heard, known, locked });
    const failure = {
      message: describePart(deps, job, { message: seen.message, entries }),
      isInDoubt,
      code: seen.code,
    };
    const goesOn = status === 'publishing' || (status === 'draft' && entries.some(isOut));
    if ((next.kind === 'retry' || (isDisconnected && status === 'draft')) && !goesOn) {
      const stopped = await stop(em, job, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds: [] };
    }

    const deliveryIds = await recordForOthers(em, deps, job, seen, next);
    if (status === 'scheduled' && !isDisconnected) {
      const stopped = await stop(em, job, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds };
    }

    if (next.kind === 'retry') {
      await recordRetry(em, job, { ...next, ...failure });
      return { kind: 'retry', atMs: next.atMs, code: seen.code };
    }

    const end = await recordEnd(em, job, { ...failure, code: next.code }, isDisconnected);
    await refinalizeCancelled(em, job, {
      publicUrl: deps.publicUrl,
      rules: deps.rules,
      now: deps.now(),
    });
    return { kind: 'final', status: end, code: endCode(end, next.code), deliveryIds };
  });
}

const reconnectedText = 'The account was connected again while its old access was in use.';

type Followed = { readonly failure: PublishFailure; readonly next: NextTry };

/** What follows from a failure, and what is told of it. */
async function follow(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
  {
    heard,
    known,
    locked: { entries, isDisconnected },
  }: {
    readonly heard: PublishFailure;
    readonly known: readonly Entry[];
    readonly locked: Locked;
  },
): Promise<Followed> {
  if (isDisconnected) {
    return withoutAccount(heard);
  }

  const isOld =
    heard.code === 'disconnected' ||
    (heard.code === 'access_lost' && (await isReconnected(em, job)));
  const renewed = isOld ? reconnectedText : heard.hasNewAccess ? heard.message : null;
  return renewed === null
    ? { failure: heard, next: whatNext(deps, job, heard, { known, entries }) }
    : withNewAccess(deps, renewed);
}

/** The account was disconnected since the try began: it was the last one, whatever it met. */
function withoutAccount(heard: PublishFailure): Followed {
  const isLast = !canRetryLater[heard.code];
  const failure = isLast
    ? heard
    : { ...heard, message: `${heard.message} The account was disconnected meanwhile.` };
  return { failure, next: { kind: 'give_up', code: isLast ? heard.code : 'disconnected' } };
}

type Ledgers = { readonly known: readonly Entry[]; readonly entries: readonly Entry[] };

function whatNext(
  deps: ActivityDeps,
  { tries, dueAt }: PublishJob,
  { code, retryAtMs, hasProgressed, lacksToken }: PublishFailure,
  { known, entries }: Ledgers,
): NextTry {
  const [dueAtMs, nowMs] = [dueAt.getTime(), deps.now().getTime()];
  const open = entries.filter(isOpen);
  if (open.length === 0) {
    return nextTry({ code, retryAtMs, hasProgressed, lacksToken }, tries, dueAtMs, nowMs);
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
export const recordStopped = (deps: ActivityDeps, job: PublishJob): Promise<ChannelStatus> =>
  deps.orm.em.fork().transactional(async (em) => {
    const { status, entries } = await lockLedger(em, deps, job);
    if (status === 'publishing' || entries.some(isOpen)) {
      throw new SupersededError('Another try is sending, or is to send what the post says now.');
    }

    return stop(em, job, status);
  });

/** What a failure means for others: a limit holds for all posts that it was met for, and lost access is told of. */
async function recordForOthers(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
  { code, message, retryAtMs, limit }: PublishFailure,
  next: NextTry,
): Promise<readonly string[]> {
  if (code === 'rate_limited' && (next.kind === 'retry' || retryAtMs !== undefined)) {
    const endMs = limitEndMs(retryAtMs, job.dueAt.getTime(), deps.now().getTime());
    await recordLimit(em, job, limit, new Date(endMs));
  }

  const starts = next.kind === 'retry' ? 'outbox' : 'workflow';
  return code === 'access_lost'
    ? loseAccess(em, deps, job, `${message} Connect the channel again.`, starts)
    : [];
}

const endCode = (status: ChannelStatus, code: ChannelErrorCode | null): ChannelErrorCode | null =>
  status === 'unconfirmed' ? 'unconfirmed' : code;

/** Whatever the error was: while a request may have arrived, nobody can say that it failed. */
async function recordEnd(
  em: Em,
  job: PublishJob,
  { message, code, isInDoubt }: Told,
  isDisconnected: boolean,
): Promise<ChannelStatus> {
  const error = isInDoubt ? unconfirmedText(message) : `${message} ${failureAdvice(code, null)}`;
  const end = isInDoubt ? unconfirmed(error) : failed({ code, error });
  await query(
    em,
    sql`update post_channels pc set ${end}, url = null, tries = tries + 1
      where ${isDisconnected ? openChannel(job) : triedChannel(job)}`,
  );
  return isInDoubt ? 'unconfirmed' : 'failed';
}

/** The post was cancelled, and perhaps scheduled anew. A send that is in doubt is looked for when that is due. */
async function stop(em: Em, job: PublishJob, post: PostStatus | undefined): Promise<ChannelStatus> {
  const status = post === 'scheduled' ? 'scheduled' : 'draft';
  await query(em, sql`update post_channels pc set ${waiting(status)} where ${triedChannel(job)}`);
  return status;
}

async function recordRetry(
  em: Em,
  job: PublishJob,
  {
    counts,
    code,
    atMs,
    message,
    isInDoubt,
  }: Told & { readonly atMs: number; readonly counts: boolean },
): Promise<void> {
  const error = isInDoubt
    ? inDoubtText(message, code, atMs)
    : `${message} ${failureAdvice(code, atMs)}`;
  await query(
    em,
    sql`update post_channels pc set ${retrying({ code, error }, new Date(atMs))}, tries = tries + ${counts ? 1 : 0}::int
      where ${triedChannel(job)}`,
  );
}

/** The channel, unless another try has ended it. */
const triedChannel = ({ workspaceId, postChannelId }: PublishJob) =>
  sql`pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isUnderWay}`;

/** No try begins on a disconnected channel, so it may end as it waits for one. */
const openChannel = ({ workspaceId, postChannelId }: PublishJob) =>
  sql`pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel}`;
