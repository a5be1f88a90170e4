import { sql } from 'kysely';
import { retrying, isUnderWay } from '../../db/channel-status.ts';
import type { Entry } from '../../db/ledger/entries.ts';
import { markRejected, markSent } from '../../db/ledger/marks.ts';
import { query } from '../../db/query.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import { NetworkError, type Readiness, type SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { dayEndMs, isDayOver, type PublishJob } from './job.ts';
import { readJobEntries, type Try } from './reconcile.ts';
import type { Live } from './record-success.ts';

/** A network that names no time, or did not answer, is asked again after this long, in milliseconds. */
const usualWaitMs = 30_000;
const shortestWaitMs = 2000;

/** The network has the thread, or the post that is to get a comment, and does not show it yet. The channel says so already. */
export class ProcessingError extends Error {
  override readonly name = 'ProcessingError';
  /** When to ask again: milliseconds since 1970. */
  readonly atMs: number;

  constructor(message: string, atMs: number) {
    super(message);
    this.atMs = atMs;
  }
}

/**
 * Asks the network, once for each part, whether what it took can be seen. One look a try: a video may take an hour, and
 * a try that waited for it would hold a slot of its server and of this worker.
 *
 * The ledger says that the parts are sent before anything is asked. After the channel's day the post counts as
 * published as it is, with a warning: it is on the network, and only its owner can see what became of it.
 *
 * @returns what went out, with what the network says of it.
 * @throws ProcessingError when it has to be asked again.
 * @throws NetworkError when the network gave a part up: it is not sent any more then, and a retry sends it anew. And
 *   `access_lost`, which says nothing of the post.
 */
export async function awaitReadiness(attempt: Try, live: Live): Promise<Live> {
  const { deps, job, network } = attempt;
  if (!network.readiness) {
    return live;
  }

  await query(deps.orm.em.fork(), markSent(job.workspaceId, live.last, deps.now()));
  const entries = await readJobEntries(deps, job);
  const last: Entry[] = [];
  for (const entry of entries) {
    if (entry.sent) {
      const warning = await lookAt(attempt, entry, entry.sent);
      last.push({ ...entry, sent: warned(entry.sent, warning) });
    }
  }

  return { sent: last.flatMap(({ sent }) => sent ?? []), last };
}

/** @returns what the network says of it, when that is not all well. */
async function lookAt(attempt: Try, entry: Entry, sent: SentPart): Promise<string | undefined> {
  const { deps, job, seen } = attempt;
  if (seen.has(entry.id)) {
    return seen.get(entry.id);
  }

  const found = await look(attempt, entry, sent);
  if (found.kind === 'ready') {
    seen.set(entry.id, found.warning);
    return found.warning;
  }

  if (isDayOver(deps, job)) {
    return 'The network has had this post for a day and has not finished processing it: look at it there.';
  }

  const waitMs = Math.max(found.checkAfterMs, shortestWaitMs);
  // The last look is made when the day is over.
  const atMs = Math.min(deps.now().getTime() + waitMs, dayEndMs(job) + 1000);
  const message = 'The network has the post and is still processing it.';
  await recordProcessing(deps, job, `${message} ${failureAdvice('processing', atMs)}`, atMs);
  throw new ProcessingError(message, atMs);
}

async function look(attempt: Try, entry: Entry, sent: SentPart): Promise<Readiness> {
  const { deps, job, network, connection } = attempt;
  try {
    return (await network.readiness?.(connection, entry, sent)) ?? { kind: 'ready' };
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    if (error.code === 'media_refused' || error.code === 'content_refused') {
      await query(
        deps.orm.em.fork(),
        markRejected(job.workspaceId, job.postChannelId, entry, deps.now()),
      );
      throw error;
    }

    if (error.code === 'access_lost') {
      throw error; // The channel's owner is to hear of it: see record-unseen.ts.
    }

    // The post is there, whatever keeps the network from saying so: it is asked until it does.
    const atMs = error.retryAtMs ?? 0;
    return { kind: 'processing', checkAfterMs: Math.max(usualWaitMs, atMs - deps.now().getTime()) };
  }
}

/** A try may come here several times, and each time the network says the same. */
const warned = (sent: SentPart, warning: string | undefined): SentPart =>
  warning === undefined || sent.warning?.includes(warning)
    ? sent
    : { ...sent, warning: [sent.warning, warning].filter(Boolean).join(' ') };

/** @param error What its owner reads. @param atMs When the network is asked again. */
export async function recordProcessing(
  deps: ActivityDeps,
  job: PublishJob,
  error: string,
  atMs: number,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`update post_channels pc set ${retrying({ code: 'processing', error }, new Date(atMs))}
      where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and ${isUnderWay}`,
  );
}
