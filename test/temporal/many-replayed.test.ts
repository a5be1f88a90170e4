import type { ExecutionContext } from 'ava';
import { relayOnce } from '../../worker/relay.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { testLog } from '../support/temporal.ts';
import { queueEvents } from '../webhooks/support/queue-events.ts';
import { startWorld, type Subscribed } from '../webhooks/support/world.ts';

const test = needs('temporal');

/** Two workspaces, each with an endpoint, and no worker. */
async function world(t: ExecutionContext) {
  const { punctual, subscribe } = await startWorld(t);
  const [theirs, mine] = [await subscribe(), await subscribe()];
  const ask = (sql: string, { workspaceId }: Subscribed) =>
    punctual.orm.em.fork().execute<unknown[]>(sql, [workspaceId]);
  return {
    punctual,
    theirs,
    mine,
    queue: (whose: Subscribed, count: number) => queueEvents(punctual, whose, count),
    fail: (whose: Subscribed) =>
      ask(
        `update deliveries set status = 'failed', next_attempt_at = null, synced_round = 1
         where workspace_id = ?`,
        whose,
      ),
    untold: async (whose: Subscribed): Promise<number> => {
      const sql = 'select id from deliveries where workspace_id = ? and synced_round < round';
      return (await ask(sql, whose)).length;
    },
  };
}

test('Temporal is told of 20 deliveries to one endpoint before it has been told of 500 older ones to another', async (t) => {
  const { punctual, theirs, mine, queue, untold } = await world(t);
  await queue(theirs, 500);
  await queue(mine, 20);

  t.is(await relayOnce({ ...punctual, client: punctual.temporal.client, log: testLog }), 50);

  t.is(await untold(mine), 0);
  t.is(await untold(theirs), 470);
});

test('a replay of 20 right behind another workspace’s replay of hundreds needs no relay to begin', async (t) => {
  const { theirs, mine, queue, fail, untold } = await world(t);
  await queue(theirs, 300);
  await queue(mine, 20);
  await fail(theirs);
  await fail(mine);
  const replay = async ({ client, webhookId }: Subscribed): Promise<unknown> =>
    (await client.post(`/webhooks/${webhookId}/replay?since=2020-01-01T00:00:00Z`)).body;

  t.deepEqual(await replay(theirs), { replaying: 300 });
  t.deepEqual(await replay(mine), { replaying: 20 });

  await poll(
    () => untold(mine),
    (count) => count === 0,
  );
  t.true((await untold(theirs)) > 0);
});
