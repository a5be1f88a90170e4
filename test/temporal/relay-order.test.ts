import { Client, ServiceError, type WorkflowClientInterceptor } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { relayOnce, startRelay, type RelayDeps } from '../../worker/relay.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { storeChannel, storeUntold } from '../support/seed.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';
import { runOf } from './started-with.ts';

const test = needs('temporal');

/** Posts that Temporal was never told of. */
async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const { workspaceId } = await newClient(punctual);
  await storeChannel(punctual, workspaceId);
  const deps: RelayDeps = { ...punctual, client: punctual.temporal.client, log: testLog };
  const now = Date.now();
  return {
    punctual,
    deps,
    /** @param inMs When it is due, from the beginning of the test. @returns its id. */
    store: (inMs: number) => storeUntold(punctual, workspaceId, new Date(now + inMs)),
    untold: async (): Promise<string[]> => {
      const sql = 'select id from posts where synced_revision < revision order by id';
      const rows = await punctual.orm.em.fork().execute<{ id: string }[]>(sql);
      return rows.map(({ id }) => id);
    },
    /** A client whose starts of these posts Temporal refuses. */
    refusing: (ids: readonly string[]): Client => {
      const refused = new Set(ids.map(postWorkflowId));
      const refuse: WorkflowClientInterceptor['start'] = (input, next) => {
        if (refused.has(input.options.workflowId)) {
          throw new ServiceError('Not this one.');
        }

        return next(input);
      };
      const workflow = [{ start: refuse }];
      const { connection, namespace } = punctual.temporal;
      return new Client({ connection, namespace, interceptors: { workflow } });
    },
  };
}

test('after an outage Temporal is told first of the posts that are overdue longest', async (t) => {
  const { deps, store, untold } = await world(t);
  const later: string[] = [];
  const overdue: string[] = [];
  for (let n = 0; n < 50; n += 1) {
    later.push(await store(60_000 * (n + 1)));
    overdue.unshift(await store(-60_000 * (n + 1)));
  }

  t.is(await relayOnce(deps), 50);

  t.deepEqual(await untold(), later.toSorted());
});

test('a hundred and twenty posts that Temporal refuses for ever hold up none', async (t) => {
  const { punctual, deps, store, refusing } = await world(t);
  const bad: string[] = [];
  for (let n = 0; n < 120; n += 1) {
    bad.push(await store(-3_600_000 + n));
  }

  t.teardown(startRelay({ ...deps, client: refusing(bad) }));
  const good = await store(3_600_000);

  await poll(
    () => runOf(punctual, good),
    (run) => run !== null,
  );
  t.is(await runOf(punctual, bad[0] ?? ''), null);
});

test('a post that Temporal refused is told of when Temporal takes it', async (t) => {
  const { punctual, deps, store, untold, refusing } = await world(t);
  const id = await store(3_600_000);
  let refusals = 0;
  const refused = refusing([id]);
  const log = testLog.child({});
  log.warn = () => void (refusals += 1);
  const stop = startRelay({ ...deps, client: refused, log });
  await poll(
    async () => refusals,
    (count) => count >= 2,
  );
  await stop();
  t.deepEqual(await untold(), [id]);

  t.teardown(startRelay(deps));
  await poll(untold, (ids) => ids.length === 0);
  t.not(await runOf(punctual, id), null);
});

test('a thousand posts whose start was lost are all started', async (t) => {
  const { punctual, deps, store, untold } = await world(t);
  const ids: string[] = [];
  for (let n = 0; n < 1000; n += 20) {
    ids.push(
      ...(await Promise.all(Array.from({ length: 20 }, (_, i) => store(3_600_000 + n + i)))),
    );
  }

  const began = Date.now();
  t.teardown(startRelay(deps));
  await poll(untold, (left) => left.length === 0, 60_000);
  t.log(`all told after ${((Date.now() - began) / 1000).toFixed(1)} s`);

  const runs = await Promise.all(ids.map((id) => runOf(punctual, id)));
  t.is(new Set(runs.filter((run) => run !== null)).size, 1000);
});
