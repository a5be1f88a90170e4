import {
  NetworkError,
  type Connection,
  type Network,
  type SentPart,
} from '../../networks/network.ts';
import { lockClaims, sameTextUnderWay, unclaimed } from '../../db/ledger/claims.ts';
import { readEntries, sentParts, type Entry } from '../../db/ledger/entries.ts';
import { markDoubted, markNotTaken, markSent } from '../../db/ledger/marks.ts';
import { isOpen } from '../../db/ledger/part-states.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { mostTries } from '../../domain/next-try.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Intent } from './intent.ts';
import { isDayOver, type PublishJob } from './job.ts';
import type { KeptUploads } from './kept-uploads.ts';
import type { Spending } from './spending.ts';

/** What a try works with. */
export type Try = {
  readonly deps: ActivityDeps;
  readonly job: PublishJob;
  readonly network: Network;
  readonly connection: Connection;
  readonly intent: Intent;
  readonly uploads: KeptUploads;
  readonly spending: Spending;
  /** The parts that this try saw on the network, by their ids in the ledger, with the warning that came of it. */
  readonly seen: Map<string, string | undefined>;
};

/**
 * Looks for what may have been sent, before anything else. Parts that were sent together are looked for together, and
 * with none of another publishing: one of them may prove all. Only then is the rest prepared, below what is there.
 *
 * @returns the ledger without anything open but what only the same part sent again can settle.
 */
export async function reconcileOpen(
  attempt: Try,
  known: readonly Entry[],
): Promise<readonly Entry[]> {
  const { deps, job, network } = attempt;
  const mustBeLookedFor = (entry: Entry): boolean =>
    isOpen(entry) && !(entry.state === 'doubted' && isSentAgain(attempt, [entry]));
  let entries = known;
  for (;;) {
    const open = entries.filter(mustBeLookedFor);
    if (open.length === 0) {
      return entries;
    }

    const together = open.filter(({ run }) => run === open[0]?.run);
    const step = network.threads === 'atomic' ? together : together.slice(0, 1);
    await reconcileStep(attempt, step, sentParts(entries));
    // An intent of an earlier run that came to nothing leaves its part to this run.
    entries = await readJobEntries(deps, job);
  }
}

/** The ledger of a try's channel as it is now. */
export const readJobEntries = (
  deps: ActivityDeps,
  job: PublishJob,
  em: Em = deps.orm.em.fork(),
): Promise<Entry[]> => readEntries(em, job, job.run, job);

/**
 * Finds out what became of a step that an earlier try may have sent. Sends nothing.
 *
 * @param step As the ledger says just now: the look is about a moment after that, however late its answer comes.
 */
async function reconcileStep(
  attempt: Try,
  step: readonly Entry[],
  sent: SentPart[],
): Promise<void> {
  const { deps, job, network } = attempt;
  const finding = await network.reconcile(attempt.connection, { parts: step, sent });
  if (finding.kind === 'found' && (await claimFound(attempt, step, finding.candidates))) {
    return;
  }

  const sendingForMs = Math.min(...step.map((entry) => entry.sendingForMs ?? Infinity));
  if (sendingForMs < network.rules.appearsWithinMs) {
    throw new NetworkError(
      'network_unavailable',
      'The network did not answer when it was asked to publish, and does not show the post yet. It is only sent again once it can no longer appear.',
      {
        taken: 'unknown',
        retryAtMs: deps.now().getTime() + network.rules.appearsWithinMs - sendingForMs,
      },
    );
  }

  const isHidden = finding.kind === 'absent' && finding.isHidden === true;
  if (isHidden && !isSentAgain(attempt, step)) {
    throw new NetworkError(
      'unconfirmed',
      'The network does not show its posts to this service, and this one is not to be sent again as it was.',
      { taken: 'unknown' },
    );
  }

  const noted = finding.kind === 'absent' ? finding.data : undefined;
  const unsent = step.map((entry, index) => ({ ...entry, data: noted?.[index] ?? entry.data }));
  const em = deps.orm.em.fork();
  await (isHidden
    ? markDoubted(em, job.workspaceId, unsent, deps.now())
    : markNotTaken(em, job.workspaceId, unsent, 'ready', deps.now()));
}

/** Whether a part that counts as not sent goes out next as it was: the same text, under the same key. */
const isSentAgain = ({ deps, job }: Try, step: readonly Entry[]): boolean =>
  !job.isFinishing &&
  !isDayOver(deps, job) &&
  job.tries < mostTries &&
  step.every(({ run, part, text }) => run === job.run && text === job.texts[part]);

/** Somebody said that this part is live, and what follows needs its id on the network. Sends nothing. */
export async function findSettled(attempt: Try, settled: Entry, sent: SentPart[]): Promise<void> {
  if (!(await findStep(attempt, [settled], sent))) {
    throw new NetworkError(
      'not_published',
      'A part before it was settled as published, and the network does not show that one, so nothing can be put after it. If it stays so, make a new post of what is missing.',
      { taken: 'no' },
    );
  }
}

/**
 * @returns whether the posts are on the network; if so, the ledger says so too.
 * @throws NetworkError while what is there may be another post's.
 */
export async function findStep(
  attempt: Try,
  step: readonly Entry[],
  sent: SentPart[],
): Promise<boolean> {
  const { network, connection } = attempt;
  const finding = await network.reconcile(connection, { parts: step, sent });
  return finding.kind === 'found' && claimFound(attempt, step, finding.candidates);
}

/**
 * Marks the parts as sent by the first candidate that no other part of ours has.
 *
 * @returns whether there is one.
 * @throws NetworkError while what is there may be another post's.
 */
export async function claimFound(
  attempt: Try,
  step: readonly Entry[],
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
 * Another post with the same text may be creating what was found, and not have heard so yet: it would be left without
 * one. After its answer, or `appearsWithinMs` without any, it is known whose it is.
 *
 * @param found How many there are that nobody has claimed.
 * @throws NetworkError
 */
async function assertOurs(
  em: Em,
  { deps, job, network }: Try,
  step: readonly Entry[],
  found: number,
): Promise<void> {
  const search = { text: step[0]?.text ?? '', withinMs: network.rules.appearsWithinMs };
  const { count, youngestMs } = await sameTextUnderWay(em, job, search);
  if (count >= found) {
    throw new NetworkError(
      'network_unavailable',
      'The network did not answer when it was asked to publish. It shows a post with this text, which may be that of another post of yours that is being sent just now.',
      {
        taken: 'unknown',
        retryAtMs: deps.now().getTime() + network.rules.appearsWithinMs - youngestMs,
      },
    );
  }
}
