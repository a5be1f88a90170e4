import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ServiceError, type WorkflowClientInterceptor } from '@temporalio/client';
import ava from 'ava';
import { deadlineMs } from '../../temporal/connect.ts';
import { relayOnce, retryBackoff, startRelay, type RelayDeps } from '../../worker/relay.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { runOf } from './started-with.ts';

const test = needs('temporal');

const api = sharedApi(test);

// A relay reads the outbox of all workspaces, so the tests run serially, each with an empty outbox.
test.beforeEach(async () => {
  await api.punctual.orm.em.fork().execute('update posts set synced_revision = revision');
});

const relay = (): RelayDeps => ({
  orm: api.punctual.orm,
  client: api.punctual.temporal.client,
  log: testLog,
});

function clientWith(interceptor: WorkflowClientInterceptor): Client {
  const { connection, namespace } = api.punctual.temporal;
  return new Client({ connection, namespace, interceptors: { workflow: [interceptor] } });
}

/** A Temporal that accepts everything at once, so that the order does not depend on its speed. */
const takesAll = (): Client =>
  clientWith({ start: async () => 'run', signalWithStart: async () => 'run' });

/** A Temporal that refuses these posts. */
function refusing(ids: readonly string[]): Client {
  const refused = new Set(ids.map(postWorkflowId));
  const refuse = <I extends { options: { workflowId: string } }, T>(
    input: I,
    next: (input: I) => Promise<T>,
  ): Promise<T> => {
    if (refused.has(input.options.workflowId)) {
      throw new ServiceError('Not this one.');
    }

    return next(input);
  };
  return clientWith({ start: refuse, signalWithStart: refuse });
}

/** A workspace with a channel, and a function that stores unsynced posts. */
async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await storeChannel(punctual, client.workspaceId);
  const now = Date.now();
  return {
    client,
    channel,
    /** @param inMs When it is due, from the beginning of the test. @returns its id. */
    store: (inMs: number) => storeUnsynced(punctual, client.workspaceId, new Date(now + inMs)),
    unsynced: async (): Promise<string[]> => {
      const rows = await punctual.orm.em
        .fork()
        .execute<{ id: string }[]>(
          'select id from posts where workspace_id = ? and synced_revision < revision order by id',
          [client.workspaceId],
        );
      return rows.map(({ id }) => id);
    },
  };
}

test.serial('after an outage, posts that are overdue longest are synced first', async (t) => {
  const { store, unsynced } = await workspace();
  const later: string[] = [];
  for (let n = 0; n < 50; n += 1) {
    later.push(await store(60_000 * (n + 1)));
    await store(-60_000 * (n + 1));
  }

  t.is(await relayOnce({ ...relay(), client: takesAll() }), 50);

  t.deepEqual(await unsynced(), later.toSorted());
});

test.serial('120 posts that Temporal always refuses delay no other post', async (t) => {
  const { store } = await workspace();
  const bad: string[] = [];
  for (let n = 0; n < 120; n += 1) {
    bad.push(await store(-3_600_000 + n));
  }

  t.teardown(startRelay({ ...relay(), client: refusing(bad) }));
  const good = await store(3_600_000);

  await poll(
    () => runOf(api.punctual, good),
    (run) => run !== null,
  );
  t.is(await runOf(api.punctual, bad[0] ?? ''), null);
});

test.serial('a post that Temporal refused is synced once Temporal accepts it', async (t) => {
  const { store, unsynced } = await workspace();
  const id = await store(3_600_000);
  let refusals = 0;
  const log = testLog.child({});
  log.warn = () => void (refusals += 1);
  const stop = startRelay({ ...relay(), client: refusing([id]), log });
  await poll(
    async () => refusals,
    (count) => count >= 2,
  );
  await stop();
  t.deepEqual(await unsynced(), [id]);

  t.teardown(startRelay(relay()));
  await poll(unsynced, (ids) => ids.length === 0);
  t.not(await runOf(api.punctual, id), null);
});

test.serial(
  'a post whose workflow was terminated gets a new one from a slow Temporal',
  async (t) => {
    const { store, unsynced } = await workspace();
    const id = await store(3_600_000);
    await relayOnce(relay());
    await api.punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).terminate();
    const ended = await runOf(api.punctual, id);
    await api.punctual.orm.em
      .fork()
      .execute('update posts set synced_revision = 0 where id = ?', [id]);
    // Each answer is in time, all together are not.
    const late = async <I, T>(input: I, next: (input: I) => Promise<T>): Promise<T> => {
      await sleep(deadlineMs / 2.5);
      return next(input);
    };

    await relayOnce({ ...relay(), client: clientWith({ start: late, describe: late }) });

    t.deepEqual(await unsynced(), []);
    t.not(await runOf(api.punctual, id), ended);
  },
);

/** Two posts that were synced with their first revision and have a newer one. */
async function editedPosts() {
  const { client, channel, unsynced } = await workspace();
  const schedule = async (): Promise<string> => {
    const post = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 60 };
    return (await client.post('/posts', post)).body.post.id;
  };
  const ids = [await schedule(), await schedule()] as const;
  await poll(
    async () => {
      await relayOnce(relay()); // In case the API's notify timed out.
      return unsynced();
    },
    (left) => left.length === 0,
  );
  await api.punctual.orm.em
    .fork()
    .execute('update posts set revision = 2 where workspace_id = ?', [client.workspaceId]);
  return { ids, unsynced };
}

test.serial(
  'a post can be edited and published while the relay waits for a slow Temporal',
  async (t) => {
    const { ids } = await editedPosts();
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const client = clientWith({
      signalWithStart: async (input, next) => {
        asked.resolve();
        await answered.promise;
        return next(input);
      },
    });
    const relaying = relayOnce({ ...relay(), client });
    await asked.promise;

    // An edit and a claim begin with this lock. It throws when it would have to wait.
    await t.notThrowsAsync(
      api.punctual.orm.em
        .fork()
        .execute('select id from posts where id in (?) for update nowait', [ids]),
    );

    answered.resolve();
    await relaying;
  },
);

/** Adds a row that was refused `times` times. @returns the delay after each, in seconds. */
function waitsOf(why: 'refused' | 'away', times: number): number[] {
  const clock = { ms: 0 };
  const rows = retryBackoff(() => clock.ms);
  return Array.from({ length: times }, () => {
    rows.add('a', why);
    const from = clock.ms;
    while (rows.ids().length > 0) {
      clock.ms += 500;
    }

    return (clock.ms - from) / 1000;
  });
}

ava('a row that Temporal refuses is retried with growing delays, up to one minute', (t) => {
  t.deepEqual(waitsOf('refused', 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

ava('a row is retried after a second, however often Temporal was unavailable', (t) => {
  t.deepEqual(waitsOf('away', 5), [1, 1, 1, 1, 1]);
});
