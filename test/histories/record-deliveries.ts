import { replay } from '../../workflows/messages.ts';
import { endOf } from '../support/end-of.ts';
import { poll } from '../support/poll.ts';
import type { Keep } from './record-posts.ts';
import type { Stage } from './recorder.ts';

export async function recordDeliveries(stage: Stage, keep: Keep): Promise<void> {
  const { client, receiver, answer, schedule, handleOf } = stage;
  const events = ['post.published'];
  await client.post('/webhooks', { url: receiver.url, events });
  const deliver = async (): Promise<string> => {
    const post = await schedule(0);
    await client.finalPost(post);
    await (await handleOf(`post-${post}`)).result();
    return post;
  };
  await keep('published-post-with-webhook', `post-${await deliver()}`);
  const delivered = await newestDelivery(stage);
  await (await handleOf(delivered)).result();
  await keep('delivered-webhook', delivered);

  answer(500);
  await deliver();
  const waiting = await newestDelivery(stage);
  await attempted(stage, waiting, 1);
  await keep('waiting-delivery', waiting, 5);

  for (let attempt = 2; attempt <= 6; attempt += 1) {
    await attemptNow(stage, waiting);
    await attempted(stage, waiting, attempt);
  }

  await endOf(await handleOf(waiting));
  await keep('failed-delivery', waiting);

  await deliver();
  const replayed = await newestDelivery(stage);
  await attempted(stage, replayed, 1);
  await (await handleOf(replayed)).signal(replay, { round: 2 });
  answer(204);
  await attemptNow(stage, replayed);
  await (await handleOf(replayed)).result();
  await keep('replayed-delivery', replayed);
}

async function newestDelivery({ punctual }: Stage): Promise<string> {
  const [row] = await punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries order by id desc limit 1');
  return `delivery-${row?.id}`;
}

/** Waits until `count` attempts are stored and Temporal waits for the next one. */
async function attempted({ punctual, handleOf }: Stage, workflowId: string, count: number) {
  const sql = 'select id from delivery_attempts where delivery_id = ?';
  await poll(
    () => punctual.orm.em.fork().execute<unknown[]>(sql, [workflowId.replace('delivery-', '')]),
    (rows) => rows.length === count,
  );
  await poll(
    async () => (await (await handleOf(workflowId)).describe()).raw.pendingActivities ?? [],
    (pending) => pending.every(({ state }) => state === 1), // 1 is `SCHEDULED`.
  );
}

/** Makes the next attempt due in the row, and ends Temporal's wait as an operator does. */
async function attemptNow({ punctual }: Stage, workflowId: string): Promise<void> {
  const { connection, namespace } = punctual.temporal;
  await punctual.orm.em
    .fork()
    .execute('update deliveries set next_attempt_at = clock_timestamp() where id = ?', [
      workflowId.replace('delivery-', ''),
    ]);
  await connection.workflowService.resetActivity({
    namespace,
    execution: { workflowId },
    type: 'attemptDelivery',
  });
}
