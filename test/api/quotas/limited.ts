import type { ExecutionContext } from 'ava';
import type { QuotaName, Quotas } from '../../../domain/quotas.ts';
import { adminOf } from '../../cli/admin/admin.ts';
import { newClient, type Client, type Reply } from '../../support/client.ts';
import type { Punctual } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

/** A workspace with these quotas, set by the operator's command, and one channel. */
export async function limited(
  punctual: Punctual,
  quotas: Partial<Quotas>,
): Promise<{ readonly client: Client; readonly channel: string }> {
  const client = await newClient(punctual);
  await limit(punctual, client, quotas);
  return { client, channel: await storeChannel(punctual, client.workspaceId) };
}

/** Sets quotas of a workspace. */
export async function limit(
  punctual: Punctual,
  { workspaceId }: Client,
  quotas: Partial<Quotas>,
): Promise<void> {
  for (const [quota, most] of Object.entries(quotas)) {
    await adminOf(punctual).call('quota', 'set', workspaceId, quota, String(most));
  }
}

/** Asserts that a call was refused for this quota, with its numbers. */
export function isFull(
  t: ExecutionContext,
  { status, body }: Reply,
  quota: QuotaName,
  most: number,
  used: number,
): void {
  t.is(status, 402, JSON.stringify(body));
  t.is(body.code, 'quota_exceeded');
  t.like(body.details, [{ path: '', quota, limit: most, used }]);
  t.true(body.error.includes(`may have ${most} `) && body.error.includes(`has ${used};`));
  t.regex(body.error, /The operator can raise the limit\.$/v);
}

/** A draft of this size in bytes, without channels. */
export const draftOf = (bytes: number): { body: string } => ({ body: 'x'.repeat(bytes) });

/** Counts the responses by status. */
export const tally = (replies: readonly Reply[]): Record<number, number> =>
  Object.fromEntries(
    [...Map.groupBy(replies, ({ status }) => status)].map(([status, all]) => [status, all.length]),
  );
