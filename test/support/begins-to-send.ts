import type { ActivityDeps } from '../../activities/deps.ts';
import type { PublishJob } from '../../activities/publish-channel/job.ts';
import { markSending, newEntry, SupersededError } from '../../db/ledger/intents.ts';

/** Commits the first intent to send a job. @returns false if the post has changed since it was read. */
export async function beginsToSend(
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
  job: PublishJob,
): Promise<boolean> {
  const { options, run, postChannelId } = job;
  const step = job.texts.map((text, part) => {
    const key = `${postChannelId}-${part}`;
    return newEntry(run, { part, text, key, media: [], options, data: null });
  });
  try {
    await markSending(orm.em.fork(), job, { step, remaining: step, isFirst: true }, now());
    return true;
  } catch (error) {
    if (error instanceof SupersededError) {
      return false;
    }

    throw error;
  }
}
