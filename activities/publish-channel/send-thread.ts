import {
  NetworkError,
  type Connection,
  type Network,
  type SentPart,
  type Step,
} from '../../networks/network.ts';
import { canRetryLater } from '../../domain/channel-error.ts';
import type { ActivityDeps } from '../deps.ts';
import { findSettled, findStep, settleStep, type Try } from './find-step.ts';
import { openLedger, type Entry } from './ledger.ts';
import { markNotTaken, markSending, markSent } from './ledger-marks.ts';
import type { PublishTarget } from './target.ts';

/**
 * Brings every part of the thread onto the network, each exactly once, and says where they are. Starts at the
 * ledger: what is sent stays sent, and what may have been sent is looked for before anything else.
 *
 * @throws NetworkError when it could not; the ledger holds how far it came.
 */
export async function sendThread(
  deps: ActivityDeps,
  target: PublishTarget,
  network: Network,
  connection: Connection,
): Promise<SentPart[]> {
  const attempt: Try = { deps, target, network, connection };
  let entries = await openLedger(deps, target, network, connection);
  for (;;) {
    const sent = sentParts(entries);
    const remaining = entries.filter((entry) => entry.sent === null);
    if (remaining.length === 0) {
      return sent;
    }

    const step = network.threads === 'atomic' ? remaining : remaining.slice(0, 1);
    const created = await advance(attempt, { remaining, step, sent });
    // Opened anew: an intent of an earlier run that came to nothing leaves its part to this run.
    entries = created
      ? withSent(entries, step, created)
      : await openLedger(deps, target, network, connection);
  }
}

type Progress = {
  readonly remaining: readonly Entry[];
  /** Those of them that go out next. */
  readonly step: readonly Entry[];
  readonly sent: SentPart[];
};

/** @returns the posts that were created just now, or null when only the ledger knows what there is. */
async function advance(
  attempt: Try,
  { remaining, step, sent }: Progress,
): Promise<readonly SentPart[] | null> {
  const settled = remaining.find(({ state }) => state === 'sent');
  if (settled) {
    await findSettled(attempt, settled, sent);
    return null;
  }

  if (step.some(({ state }) => state === 'sending' || state === 'unknown')) {
    await settleStep(attempt, step, sent);
    return null;
  }

  return sendStep(attempt, step, sent);
}

const sentParts = (entries: readonly Entry[]): SentPart[] =>
  entries.flatMap(({ sent }) => (sent === null ? [] : [sent]));

/** What the ledger says now that the parts of a step are written down as sent. */
const withSent = (
  entries: readonly Entry[],
  step: readonly Entry[],
  created: readonly SentPart[],
): Entry[] =>
  entries.map((entry) => {
    const index = step.indexOf(entry);
    return index < 0 ? entry : { ...entry, state: 'sent', sent: created[index] ?? null };
  });

/** @returns the posts, or null when their answer was lost and the network was asked for them. */
async function sendStep(
  attempt: Try,
  step: readonly Entry[],
  sent: SentPart[],
): Promise<readonly SentPart[] | null> {
  const { deps, target, network, connection } = attempt;
  // Before the intent: while files are on their way no post can come of it, and what fails is certain.
  const files = await uploadFiles(attempt, { parts: step, sent });
  const marked = await markSending(deps, target, step);
  try {
    const created = await network.send(connection, { parts: step, sent }, files);
    await markSent(deps, target, step, created);
    return created;
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error; // The ledger still says "sending", so the next try asks the network first.
    }

    if (error.taken === 'no') {
      await markNotTaken(deps, target, marked, canRetryLater[error.code] ? 'ready' : 'refused');
      throw error;
    }

    // The request left and no answer came. Mostly the network can tell at once.
    if (!(await findStep(attempt, step, sent))) {
      throw unsettled(error, deps.now().getTime() + network.settlingMs);
    }

    return null;
  }
}

/** The same error, tried again when a look can settle it: a look before that would be a try for nothing. */
const unsettled = ({ code, message, limit, ...error }: NetworkError, settledMs: number) =>
  new NetworkError(code, message, {
    taken: 'unknown',
    limit,
    retryAtMs: Math.max(error.retryAtMs ?? 0, settledMs),
    cause: error.cause,
  });

/** Brings all files of a step to the network. An adapter that would leave one behind sends nothing. */
async function uploadFiles({ network, connection }: Try, step: Step): Promise<readonly string[]> {
  const media = step.parts.flatMap((part) => part.media);
  const files = await network.upload(connection, step);
  if (files.length !== media.length) {
    throw new NetworkError(
      'media_refused',
      `The post has ${media.length} files, and ${files.length} of them can go to ${network.id}.`,
      { taken: 'no' },
    );
  }

  return files;
}
