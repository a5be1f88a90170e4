import { sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import {
  addEntries,
  asReady,
  LimitedError,
  markSending,
  newEntry,
  SupersededError,
} from '../../db/ledger/intents.ts';
import { markSent, markUnsent } from '../../db/ledger/outcomes.ts';
import { query } from '../../db/query.ts';
import { channelErrors } from '../../domain/channel-error.ts';
import { isOpen } from '../../domain/live-parts.ts';
import { maxAttempts } from '../../domain/next-attempt.ts';
import {
  NetworkError,
  type PublishStep,
  type SentPart,
  type ThreadPart,
} from '../../networks/network.ts';
import { readJobEntries, type PublishAttempt } from './attempt.ts';
import { checkReadiness, type Live } from './confirm.ts';
import { cancelledFailure } from './failures.ts';
import { isPublishWindowOver, isWhole } from './job.ts';
import { takeTurnAgain } from './pacing.ts';
import { claimFound, findSettled, findStep, reconcileOpen } from './reconcile.ts';

/**
 * Publishes every part of the thread exactly once, starting from the ledger.
 *
 * @returns the live parts. The caller marks those sent last in the ledger, together with the channel.
 * @throws NetworkError if it failed; the ledger holds the progress.
 * @throws ProcessingError if a comment waits until its post is visible.
 */
export async function sendThread(attempt: PublishAttempt): Promise<Live> {
  const { deps, job, network } = attempt;
  let entries = await readied(attempt, job.ledger);
  const isAbsent = !entries.some(isOpen) && entries.some(({ sent }) => sent === null);
  if (job.isInDoubt && isAbsent && !isPublishWindowOver(deps, job)) {
    await takeTurnAgain(deps, job);
  }

  for (;;) {
    const remaining = entries.filter((entry) => entry.sent === null);
    if (remaining.length === 0) {
      return { sent: sentPartsOf(entries), last: [] };
    }

    const step = network.threads === 'atomic' ? remaining : remaining.slice(0, 1);
    const before = entries.filter((entry) => isSent(entry) && entry.part < (step[0]?.part ?? 0));
    const created = await sendOrFind(attempt, { remaining, step, before });
    if (created === null) {
      entries = await readied(attempt, await readJobEntries(deps, job));
      continue;
    }

    entries = withSent(entries, step, created);
    const last = entries.filter(({ id }) => step.some((entry) => entry.id === id));
    if (last.length === remaining.length) {
      return { sent: sentPartsOf(entries), last };
    }

    await query(deps.orm.em.fork(), markSent(job.workspaceId, last, deps.now()));
  }
}

async function readied(
  attempt: PublishAttempt,
  known: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  const { job } = attempt;
  const entries = await reconcileOpen(attempt, known);
  if (job.isCancelled && !isWhole(job, entries)) {
    const { code, message } = cancelledFailure;
    throw new NetworkError(code, message, { accepted: 'no' });
  }

  return job.isCancelled ? entries : prepareMissing(attempt, entries);
}

/** When two attempts run at once, the first commits its preparation, and the other reads its entries. */
async function prepareMissing(
  { deps, job, network, connection }: PublishAttempt,
  entries: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  const parts = new Set(entries.map(({ part }) => part));
  const { options, optionFiles } = job;
  const missing: (ThreadPart & { part: number })[] = [];
  for (const [part, text] of job.texts.entries()) {
    if (!parts.has(part)) {
      const key = `${job.postChannelId}-${job.run}-${part}`;
      const media = job.media[part] ?? [];
      const dueAtMs = job.dueAt.getTime();
      missing.push({ part, key, text, media, options, optionFiles, dueAtMs });
    }
  }

  if (missing.length === 0) {
    return entries;
  }

  const before = entries.filter(({ part }) => part < (missing[0]?.part ?? 0));
  const prepared = await network.prepare(connection, missing, deps.now().getTime(), before);
  const added = missing.map((part, index) =>
    newEntry(job.run, { ...part, data: prepared[index]?.data ?? null }),
  );
  if (entries.length === 0) {
    return added;
  }

  return (await addEntries(deps.orm.em.fork(), job, added, deps.now()))
    ? [...entries, ...added.map(asReady)].toSorted((a, b) => a.part - b.part)
    : readJobEntries(deps, job);
}

type Progress = {
  readonly remaining: readonly LedgerEntry[];
  /** The ones to send next. */
  readonly step: readonly LedgerEntry[];
  readonly before: readonly LedgerEntry[];
};

/** @returns the created posts, or null if the ledger has to be read again. */
async function sendOrFind(
  attempt: PublishAttempt,
  progress: Progress,
): Promise<readonly SentPart[] | null> {
  const sent = sentPartsOf(progress.before);
  const settled = progress.remaining.find(({ state }) => state === 'sent');
  if (settled) {
    await findSettled(attempt, settled, sent);
    return null;
  }

  assertGoesOut(attempt);
  if (sent.length > 0 && attempt.network.rules.comments) {
    // A network may refuse comments on a post that it is still processing, and may still reject the post.
    await checkReadiness(attempt, { sent, last: [] });
  }

  return sendStep(attempt, progress, sent);
}

/** @throws NetworkError if the publish window is over or the attempts are used up. */
function assertGoesOut({ deps, job }: PublishAttempt): void {
  if (isPublishWindowOver(deps, job)) {
    throw new NetworkError('too_late', 'The network does not have it.', { accepted: 'no' });
  }

  if (job.attempts >= maxAttempts) {
    const message = `The network was asked to publish ${maxAttempts} times, and does not show the post.`;
    throw new NetworkError('network_unavailable', message, { accepted: 'no' });
  }
}

const isSent = ({ sent }: LedgerEntry): boolean => sent !== null;

const withSent = (
  entries: readonly LedgerEntry[],
  step: readonly LedgerEntry[],
  created: readonly SentPart[],
): LedgerEntry[] =>
  entries.map((entry) => {
    const index = step.indexOf(entry);
    return index < 0 ? asReady(entry) : { ...entry, state: 'sent', sent: created[index] ?? null };
  });

/** @returns the posts, or null if the response was lost and the reconcile found them. */
async function sendStep(
  attempt: PublishAttempt,
  { remaining, step: prepared, before }: Progress,
  sent: SentPart[],
): Promise<readonly SentPart[] | null> {
  const { deps, job, network, connection, begun, intent, uploads, spending } = attempt;
  await spending.take(remaining, sent.length > 0);
  const renewed = await renew(attempt, prepared, before);
  // Upload before the intent: an upload cannot create a post, so its failure leaves no doubt.
  uploads.begin(remaining);
  const files = await uploadFiles(attempt, { parts: renewed, sent });
  const step = renewed.map(uploads.current);
  const toSend = { step, remaining: remaining.map(uploads.current) };
  const limit = deps.limits.announced.longest(job, null);
  if (limit && limit.untilMs > deps.now().getTime()) {
    throw new LimitedError(limit);
  }

  const isFirst = intent.begin();
  const marked = await markSending(deps.orm.em.fork(), job, { ...toSend, isFirst }, deps.now());
  begun.entry = step[0]?.id;
  spending.spend(step);
  try {
    return await network.send(connection, { parts: step, sent }, files);
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error; // The part stays `sending`, so the next attempt reconciles first.
    }

    // The refusal may name the post that an earlier request created.
    if (error.existing && (await claimFound(attempt, marked, [error.existing]))) {
      return null;
    }

    if (error.accepted === 'no') {
      spending.regain(step);
      const state = channelErrors[error.code].canRetryLater ? 'ready' : 'refused';
      if (!(await markUnsent(deps.orm.em.fork(), job.workspaceId, marked, state, deps.now()))) {
        throw new SupersededError('Another attempt took over while this one sent nothing.');
      }

      throw error;
    }

    // The request was sent and got no response. Usually a reconcile can tell at once.
    if (!(await findStep(attempt, step, sent))) {
      throw afterReconcile(error, deps.now().getTime() + network.rules.appearsWithinMs);
    }

    return null;
  }
}

/** Prepares parts again that an earlier attempt prepared, hours ago perhaps, and that are certainly not live. */
async function renew(
  { deps, network, connection }: PublishAttempt,
  step: readonly LedgerEntry[],
  before: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  if (!network.renew || step.some(({ state }) => state === 'new')) {
    return step;
  }

  const fresh = await network.renew(connection, step, deps.now().getTime(), before);
  return step.map((entry, index) => ({ ...entry, data: fresh[index]?.data ?? entry.data }));
}

/** The same error with a retry not before a reconcile can tell; an earlier attempt would be wasted. */
const afterReconcile = ({ code, message, limit, ...error }: NetworkError, tellsAtMs: number) =>
  new NetworkError(code, message, {
    accepted: 'unknown',
    limit,
    retryAtMs: Math.max(error.retryAtMs ?? 0, tellsAtMs),
    cause: error.cause,
  });

/** @throws NetworkError if the adapter cannot take all files, so that nothing is sent. */
async function uploadFiles(
  { network, connection }: PublishAttempt,
  step: PublishStep,
): Promise<readonly string[]> {
  const media = step.parts.flatMap((part) => part.media);
  const files = await network.upload(connection, step);
  if (files.length !== media.length) {
    const message = `The post has ${media.length} files, and ${files.length} of them can go to ${network.id}.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  return files;
}
