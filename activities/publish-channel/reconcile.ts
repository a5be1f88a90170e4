import {
  lockClaims,
  sameTextUnderWay,
  sentPartsOf,
  unclaimed,
  type LedgerEntry,
} from '../../db/ledger/entries.ts';
import { markSent, markUnsent } from '../../db/ledger/outcomes.ts';
import { isOpen } from '../../domain/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { maxAttempts } from '../../domain/next-attempt.ts';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import { readJobEntries, type PublishAttempt } from './attempt.ts';
import { isPublishWindowOver } from './job.ts';

/**
 * Reconciles open parts before anything is sent, those of one request together: one of them may prove the rest.
 *
 * @returns the ledger; the only parts still open are those that sending the same text again settles.
 */
export async function reconcileOpen(
  attempt: PublishAttempt,
  known: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  const { deps, job, network } = attempt;
  const needsReconcile = (entry: LedgerEntry): boolean =>
    isOpen(entry) && !(entry.state === 'doubted' && isSentAgain(attempt, [entry]));
  let entries = known;
  for (;;) {
    const open = entries.filter(needsReconcile);
    if (open.length === 0) {
      return entries;
    }

    const together = open.filter(({ run }) => run === open[0]?.run);
    const step = network.threads === 'atomic' ? together : together.slice(0, 1);
    await reconcileStep(attempt, step, sentPartsOf(entries));
    // A failed intent of an earlier run leaves its part to this run.
    entries = await readJobEntries(deps, job);
  }
}

/** @param step Entries as just read: the check refers to a moment after that, however late its response comes. */
async function reconcileStep(
  attempt: PublishAttempt,
  step: readonly LedgerEntry[],
  sent: SentPart[],
): Promise<void> {
  const { deps, job, network } = attempt;
  const finding = await network.reconcile(attempt.connection, { parts: step, sent });
  if (finding.kind === 'found' && (await claimFound(attempt, step, finding.candidates))) {
    return;
  }

  const sendingForMs = Math.min(...step.map((entry) => entry.sendingForMs ?? Infinity));
  if (sendingForMs < network.rules.appearsWithinMs) {
    const message =
      'The network did not answer when it was asked to publish, and does not show the post yet. It is only sent again once it can no longer appear.';
    const retryAtMs = deps.now().getTime() + network.rules.appearsWithinMs - sendingForMs;
    throw new NetworkError('network_unavailable', message, { accepted: 'unknown', retryAtMs });
  }

  const isHidden = finding.kind === 'absent' && finding.isHidden === true;
  if (isHidden && !isSentAgain(attempt, step)) {
    const message =
      'The network does not show its posts to this service, and this part cannot be sent again unchanged.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }

  const noted = finding.kind === 'absent' ? finding.data : undefined;
  const unsent = step.map((entry, index) => ({ ...entry, data: noted?.[index] ?? entry.data }));
  const em = deps.orm.em.fork();
  const state = isHidden ? 'doubted' : 'ready';
  await markUnsent(em, job.workspaceId, unsent, state, deps.now());
}

/** Whether the next send repeats these parts unchanged: the same text under the same key. */
const isSentAgain = ({ deps, job }: PublishAttempt, step: readonly LedgerEntry[]): boolean =>
  !job.isCancelled &&
  !isPublishWindowOver(deps, job) &&
  job.attempts < maxAttempts &&
  step.every(({ run, part, text }) => run === job.run && text === job.texts[part]);

/** Finds a part that was settled as published, because the next part needs its id on the network. */
export async function findSettled(
  attempt: PublishAttempt,
  settled: LedgerEntry,
  sent: SentPart[],
): Promise<void> {
  if (!(await findStep(attempt, [settled], sent))) {
    const message =
      'An earlier part was settled as published, but the network does not show it, so the rest cannot be posted as replies. If this persists, create a new post with the missing parts.';
    throw new NetworkError('not_published', message, { accepted: 'no' });
  }
}

/** @returns whether the posts are on the network; if so, the ledger marks them as sent. */
export async function findStep(
  attempt: PublishAttempt,
  step: readonly LedgerEntry[],
  sent: SentPart[],
): Promise<boolean> {
  const { network, connection } = attempt;
  const finding = await network.reconcile(connection, { parts: step, sent });
  return finding.kind === 'found' && claimFound(attempt, step, finding.candidates);
}

/** Marks the parts as sent, with the first candidate that no other part of this service has. @returns whether there is one. */
export async function claimFound(
  attempt: PublishAttempt,
  step: readonly LedgerEntry[],
  candidates: readonly (readonly SentPart[])[],
): Promise<boolean> {
  const { deps, job } = attempt;
  return deps.orm.em.fork().transactional(async (em) => {
    await lockClaims(em, job.channelId);
    const possible = await unclaimed(em, job, step, candidates);
    const [ours] = possible;
    if (ours === undefined) {
      return false;
    }

    await assertOurs(em, attempt, step, possible.length);
    const live = step.map((entry, index) => ({ ...entry, sent: ours[index] ?? null }));
    await query(em, markSent(job.workspaceId, live, deps.now()));
    return true;
  });
}

/**
 * Refuses a match while another post with the same text is under way: the `found` posts may be its own, and it has no
 * response yet. After its response, or after `appearsWithinMs`, the owner is known.
 */
async function assertOurs(
  em: Em,
  { deps, job, network }: PublishAttempt,
  step: readonly LedgerEntry[],
  found: number,
): Promise<void> {
  const search = { text: step[0]?.text ?? '', withinMs: network.rules.appearsWithinMs };
  const { count, youngestMs } = await sameTextUnderWay(em, job, search);
  if (count >= found) {
    const message =
      'The network did not answer when it was asked to publish. It shows a post with this text, but that may be another post of yours that is being sent now.';
    const retryAtMs = deps.now().getTime() + network.rules.appearsWithinMs - youngestMs;
    throw new NetworkError('network_unavailable', message, { accepted: 'unknown', retryAtMs });
  }
}
