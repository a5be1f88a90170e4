import { sentParts, type Entry } from '../../db/ledger/entries.ts';
import {
  addEntries,
  asReady,
  markSending,
  newEntry,
  SupersededError,
} from '../../db/ledger/intents.ts';
import { markNotTaken, markSent } from '../../db/ledger/marks.ts';
import { query } from '../../db/query.ts';
import { canRetryLater } from '../../domain/channel-error.ts';
import { mostTries } from '../../domain/next-try.ts';
import { NetworkError, type Part, type SentPart, type Step } from '../../networks/network.ts';
import { awaitReadiness } from './await-readiness.ts';
import { StoppedError } from './classify-error.ts';
import { isDayOver } from './job.ts';
import {
  claimFound,
  findSettled,
  findStep,
  readJobEntries,
  reconcileOpen,
  type Try,
} from './reconcile.ts';
import type { Live } from './record-success.ts';

/**
 * Brings every part of the thread onto the network, each exactly once. Starts at the ledger: what is sent stays sent, and
 * what may have been sent is looked for before anything else.
 *
 * @param known The ledger as the try began.
 * @returns where the parts are. The ledger does not say so yet of those that were sent last: whoever writes down that the
 *   channel is published says both at once.
 * @throws NetworkError when it could not; the ledger holds how far it came.
 * @throws ProcessingError when a comment waits for its post to be seen.
 */
export async function sendThread(attempt: Try, known: readonly Entry[]): Promise<Live> {
  const { deps, job, network } = attempt;
  let entries = await prepare(attempt, await reconcileOpen(attempt, known));
  for (;;) {
    const remaining = entries.filter((entry) => entry.sent === null);
    if (remaining.length === 0) {
      return { sent: sentParts(entries), last: [] };
    }

    const step = network.threads === 'atomic' ? remaining : remaining.slice(0, 1);
    const before = entries.filter((entry) => isSent(entry) && entry.part < (step[0]?.part ?? 0));
    const created = await advance(attempt, { remaining, step, sent: sentParts(before), before });
    if (created === null) {
      entries = await prepare(
        attempt,
        await reconcileOpen(attempt, await readJobEntries(deps, job)),
      );
      continue;
    }

    entries = withSent(entries, step, created);
    const last = entries.filter(({ id }) => step.some((entry) => entry.id === id));
    if (last.length === remaining.length) {
      return { sent: sentParts(entries), last };
    }

    await query(deps.orm.em.fork(), markSent(job.workspaceId, last, deps.now()));
  }
}

/**
 * The ledger with an entry for each part that is to go out. What a cancel lets finish is the thread as it was sent:
 * nothing is added, and where it was edited or scheduled anew in between nothing more goes out.
 *
 * @throws StoppedError
 */
async function prepare(attempt: Try, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const { deps, job } = attempt;
  if (!job.isFinishing) {
    return prepareMissing(attempt, entries);
  }

  const run = Math.max(0, ...entries.map((entry) => entry.run));
  const whole = run === job.run ? entries : await readJobEntries(deps, { ...job, run });
  const isSentWhole = whole.length > 0 && whole.every(({ state }) => state === 'sent');
  const isOther = run !== job.run || whole.some(({ text, part }) => text !== job.texts[part]);
  if (isOther && !isSentWhole) {
    throw new StoppedError('The post was cancelled, and is another one by now.');
  }

  return whole;
}

/**
 * The ledger with an entry for every part, before anything is sent. What the network prepares is computed once: of two
 * tries that come here together the first to commit decides, and the other reads what it wrote.
 */
async function prepareMissing(
  { deps, job, network, connection }: Try,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const parts = new Set(entries.map(({ part }) => part));
  const { options, optionFiles } = job;
  const missing: (Part & { part: number })[] = [];
  for (const [part, text] of job.texts.entries()) {
    if (!parts.has(part)) {
      const key = `${job.postChannelId}-${job.run}-${part}`;
      missing.push({ part, key, text, media: job.media[part] ?? [], options, optionFiles });
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
  readonly remaining: readonly Entry[];
  /** Those of them that go out next. */
  readonly step: readonly Entry[];
  readonly sent: SentPart[];
  /** The same parts as the ledger knows them. */
  readonly before: readonly Entry[];
};

/** @returns the posts that were created just now, or null when only the ledger knows what there is. */
async function advance(attempt: Try, progress: Progress): Promise<readonly SentPart[] | null> {
  const { remaining, sent } = progress;
  const settled = remaining.find(({ state }) => state === 'sent');
  if (settled) {
    await findSettled(attempt, settled, sent);
    return null;
  }

  assertGoesOut(attempt, sent);
  if (sent.length > 0 && attempt.network.rules.comments) {
    // A network may refuse comments under a post that it still processes, and may yet give the post up.
    await awaitReadiness(attempt, { sent, last: [] });
  }

  return sendStep(attempt, progress);
}

/**
 * A look comes before this, a send after.
 *
 * @throws StoppedError when the post was cancelled, and nothing of it is out.
 * @throws NetworkError when the channel's day is over, or its tries are used up.
 */
function assertGoesOut({ deps, job }: Try, sent: readonly SentPart[]): void {
  if (job.isFinishing && sent.length === 0) {
    throw new StoppedError('The post was cancelled, and nothing of it is on the network.');
  }

  if (isDayOver(deps, job)) {
    throw new NetworkError('too_late', 'It was not on the network.', { taken: 'no' });
  }

  if (job.tries >= mostTries) {
    const message = `The network was asked to publish ${mostTries} times, and does not show the post.`;
    throw new NetworkError('network_unavailable', message, { taken: 'no' });
  }
}

const isSent = ({ sent }: Entry): boolean => sent !== null;

/** The entries now that those of a step are sent. */
const withSent = (
  entries: readonly Entry[],
  step: readonly Entry[],
  created: readonly SentPart[],
): Entry[] =>
  entries.map((entry) => {
    const index = step.indexOf(entry);
    return index < 0 ? asReady(entry) : { ...entry, state: 'sent', sent: created[index] ?? null };
  });

/** @returns the posts, or null when their answer was lost and the network was asked for them. */
async function sendStep(
  attempt: Try,
  { remaining, step: prepared, sent, before }: Progress,
): Promise<readonly SentPart[] | null> {
  const { deps, job, network, connection, intent, uploads, spending } = attempt;
  await spending.take(remaining, sent.length > 0);
  const renewed = await renew(attempt, prepared, before);
  // Before the intent: while files are on their way no post can come of it, and what fails is certain.
  uploads.begin(remaining);
  const files = await uploadFiles(attempt, { parts: renewed, sent });
  const step = renewed.map(uploads.current);
  const toSend = { step, remaining: remaining.map(uploads.current) };
  intent.begin();
  const marked = await markSending(deps.orm.em.fork(), job, toSend, deps.now());
  spending.spend(step);
  try {
    return await network.send(connection, { parts: step, sent }, files);
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error; // The ledger still says "sending", so the next try asks the network first.
    }

    // The refusal itself says what became of an earlier send.
    if (error.existing && (await claimFound(attempt, marked, [error.existing]))) {
      return null;
    }

    if (error.taken === 'no') {
      spending.regain(step);
      const state = canRetryLater[error.code] ? 'ready' : 'refused';
      if (!(await markNotTaken(deps.orm.em.fork(), job.workspaceId, marked, state, deps.now()))) {
        throw new SupersededError('Another try took over while this one sent nothing.');
      }

      throw error;
    }

    // The request left and no answer came. Mostly the network can tell at once.
    if (!(await findStep(attempt, step, sent))) {
      throw afterReconcile(error, deps.now().getTime() + network.rules.appearsWithinMs);
    }

    return null;
  }
}

/** What an earlier try prepared, and is certainly not on the network, is prepared anew: it may have waited for hours. */
async function renew(
  { deps, network, connection }: Try,
  step: readonly Entry[],
  before: readonly Entry[],
): Promise<readonly Entry[]> {
  if (!network.renew || step.some(({ state }) => state === 'new')) {
    return step;
  }

  const fresh = await network.renew(connection, step, deps.now().getTime(), before);
  return step.map((entry, index) => ({ ...entry, data: fresh[index]?.data ?? entry.data }));
}

/** The same error, tried again when a reconcile can tell: one before that would be a try for nothing. */
const afterReconcile = ({ code, message, limit, ...error }: NetworkError, tellsAtMs: number) =>
  new NetworkError(code, message, {
    taken: 'unknown',
    limit,
    retryAtMs: Math.max(error.retryAtMs ?? 0, tellsAtMs),
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
