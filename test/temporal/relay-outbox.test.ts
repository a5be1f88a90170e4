import { Client } from '@temporalio/client';
import { relayOnce } from '../../worker/relay.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { planOf } from '../support/query-plan.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { statementsOf } from '../support/sent-statements.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');
const api = sharedApi(test);
const month = 30 * 24 * 3_600_000;

// A relay reads the outbox of all workspaces, so the tests run serially, each with an empty outbox.
test.beforeEach(async () => {
  await api.punctual.orm.em.fork().execute('update posts set synced_revision = revision');
});

/**
 * Runs a relay once, with a Temporal that accepts everything at once, so that the order does not depend on its speed.
 */
function relay(): Promise<number> {
  const { connection, namespace } = api.punctual.temporal;
  const takesAll = {
    start: async () => 'run',
    signalWithStart: async () => 'run',
    signal: async () => undefined,
  };
  const client = new Client({ connection, namespace, interceptors: { workflow: [takesAll] } });
  return relayOnce({ ...api.punctual, client, log: testLog });
}

async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  const { workspaceId } = client;
  await storeChannel(punctual, workspaceId);
  const now = Date.now();
  const execute = <Row>(sql: string): Promise<Row[]> =>
    punctual.orm.em.fork().execute<Row[]>(sql, [workspaceId]);
  return {
    client,
    execute,
    /** @param dueInMs When the first post is due; each other one is due a second later. @returns their ids. */
    store: async (dueInMs: number, count = 1): Promise<string[]> => {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) {
        ids.push(await storeUnsynced(punctual, workspaceId, new Date(now + dueInMs + n * 1000)));
      }

      return ids;
    },
    unsynced: async (): Promise<string[]> => {
      const rows = await execute<{ id: string }>(
        'select id from posts where workspace_id = ? and synced_revision < revision order by id',
      );
      return rows.map(({ id }) => id);
    },
  };
}

/** A workspace with unsynced drafts that were scheduled for next month. */
async function cancelled(drafts: number) {
  const mine = await workspace();
  await mine.store(month, drafts);
  await mine.execute(
    `update posts set status = 'draft', scheduled_at = null, synced_revision = revision, revision = revision + 1
     where workspace_id = ?`,
  );
  return mine;
}

test.serial(
  'a due post does not wait behind the cancelled posts of another workspace',
  async (t) => {
    const crowd = await cancelled(60);
    const other = await workspace();
    await other.store(0);
    t.is((await crowd.unsynced()).length, 60);

    t.is(await relay(), 50);

    t.deepEqual(await other.unsynced(), []);
    t.is((await crowd.unsynced()).length, 11);
  },
);

test.serial('the outbox is read by its index, however large it is', async (t) => {
  const { orm } = api.punctual;
  const { execute } = await workspace();
  await execute(
    `insert into posts (id, workspace_id, body, status, scheduled_at, revision, synced_revision, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', case when n % 2 = 0 then 'draft' else 'scheduled' end,
       case when n % 2 = 0 then null else now() + n * interval '1 second' end, 2, 1, now(), now()
     from generate_series(1, 6000) n`,
  );
  await orm.em.fork().execute('analyze posts');

  const sent = await statementsOf(relay);

  const claim = sent.find(({ text }) => text.includes('hashtextextended(id::text'));
  const plan = await planOf(orm, { sql: claim?.text ?? '', values: claim?.values ?? [] });
  t.is(plan.match(/Index Scan using posts_unsynced/gv)?.length, 2, plan);
  t.notRegex(plan, /Seq Scan/v, plan);
});
