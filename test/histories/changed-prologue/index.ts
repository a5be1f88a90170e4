import { condition, upsertMemo } from '@temporalio/workflow';
import type { PublishPostInput } from '../../../workflows/messages.ts';

/** A change that the real workflow must never get: a command before the first timer. */
export async function publishPost(input: PublishPostInput): Promise<void> {
  upsertMemo({ changed: true });
  await condition(() => false, Date.parse(input.dueAt) - Date.now());
}
