import type { ExecutionContext } from 'ava';
import { startWebhooks, type Subscription } from '../../support/webhooks.ts';

export type Subscribed = Subscription;

export async function startWorld(t: ExecutionContext) {
  const webhooks = await startWebhooks(t);
  return { ...webhooks, stage: webhooks };
}
