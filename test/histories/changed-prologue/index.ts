import { condition, upsertMemo } from '@temporalio/workflow';
import type { PublishPostInput } from '../../../workflows/messages.ts';

/** What must never be done to the real one: one more command before the first timer. */
export async function publishPost(input: PublishPostInput): Promise<void> {
  upsertMemo({ changed: true });
  await condition(() => false, Date.parse(input.dueAt) - Date.now());
}
