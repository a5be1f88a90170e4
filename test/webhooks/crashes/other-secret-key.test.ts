import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import { status } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';

const world = sharedWorld(test);

test('a worker with another SECRET_KEY sends nothing, counts nothing, and its log says why', async (t) => {
  const subscribed = await world.subscribe(status(204));
  const { attempt, event, shown, receiver, secret } = subscribed;
  const lines: { message: string; fields: string }[] = [];
  const error = (fields: object, message: string): void =>
    void lines.push({ message, fields: JSON.stringify(fields) });
  const log = { error } as unknown as ActivityDeps['log'];
  const sealer = createSealer(randomBytes(32).toString('hex'));
  const deliveries = await Promise.all(Array.from({ length: 6 }, () => event()));

  for (const id of deliveries) {
    // Temporal's own policy says when it is tried again: as long as it takes.
    const attempted = await attempt(id, { sealer, log });
    t.deepEqual(attempted, { kind: 'again', code: 'secret_unreadable', inMs: null });
  }

  t.is(receiver.arrived.length, 0);
  t.is(lines.length, 6);
  const [line] = lines;
  t.regex(line?.message ?? '', /signing secret cannot be opened with this SECRET_KEY/v);
  t.true(line?.fields.includes(subscribed.webhookId));
  t.true(line?.fields.includes('sealed under another SECRET_KEY'));
  t.false(line?.fields.includes(secret));
  for (const id of deliveries) {
    t.like(await shown(id), { status: 'pending', attempts: [], error: null });
  }

  // The operator puts the right key back.
  for (const id of deliveries) {
    t.deepEqual(await attempt(id), { kind: 'done', status: 'delivered' });
  }
});
