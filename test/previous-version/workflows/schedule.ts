import {
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { cancel, reschedule, type PublishPostInput } from './messages.ts';
import type { publishPost } from './publish-post.ts';

/** The state that the messages describe. The highest revision wins, in any order of arrival. */
export type Schedule = {
  revision: number;
  dueAtMs: number;
  canceled: boolean;
  /** Called for each message with a newer revision. */
  onNews: () => void;
};

// Frozen: sleeping posts replay these two functions for months, so no command may be added before the first timer.
// `test/histories/` has sleeping posts that check it.

export function followMessages(input: PublishPostInput): Schedule {
  const schedule: Schedule = {
    revision: input.revision,
    dueAtMs: Date.parse(input.dueAt),
    canceled: false,
    onNews: () => undefined,
  };
  setHandler(
    reschedule,
    ({ revision, dueAt }) => {
      if (revision > schedule.revision) {
        Object.assign(schedule, { revision, dueAtMs: Date.parse(dueAt), canceled: false });
        schedule.onNews();
      }
    },
    { description: 'The post has a new time: {revision, dueAt}.' },
  );
  setHandler(
    cancel,
    ({ revision }) => {
      if (revision > schedule.revision) {
        Object.assign(schedule, { revision, canceled: true });
        schedule.onNews();
      }
    },
    { description: 'The post became a draft: {revision}.' },
  );
  return schedule;
}

/** Sleeps until the due time, also when it changes meanwhile, or until a cancel. */
export async function untilDue(input: PublishPostInput, schedule: Schedule): Promise<void> {
  while (!schedule.canceled && Date.now() < schedule.dueAtMs) {
    const { revision, dueAtMs } = schedule;
    setCurrentDetails(
      `Waiting until **${new Date(dueAtMs).toISOString()}** (revision ${revision}).`,
    );
    await condition(() => schedule.revision !== revision, dueAtMs - Date.now(), {
      summary: 'until publish time',
    });
    if (workflowInfo().continueAsNewSuggested && !schedule.canceled) {
      const dueAt = new Date(schedule.dueAtMs).toISOString();
      const { workspaceId, postId } = input;
      await continueAsNew<typeof publishPost>({
        workspaceId,
        postId,
        revision: schedule.revision,
        dueAt,
      });
    }
  }
}
