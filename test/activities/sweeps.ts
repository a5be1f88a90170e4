import type { ExecutionContext, TestFn } from 'ava';
import { sweep, type Swept } from '../../activities/sweep/sweep.ts';
import type { WorkflowState } from '../../domain/statuses.ts';
import { relayOnce } from '../../worker/relay.ts';
import { deliveryWorkflowId, postWorkflowId } from '../../workflows/messages.ts';
import { beforeTests } from '../support/before-tests.ts';
import { newClient, type Client } from '../support/client.ts';
import { fails, fakeNetworks, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { fakeChannel } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

/** A workspace whose workflows a test may terminate. */
export type SweptWorkspace = {
  readonly client: Client;
  /** @returns the id of a synced post that is due in `inMs`. */
  readonly schedule: (inMs: number) => Promise<string>;
  /** Schedules a post and terminates its workflow; the post is due in 3 s. @returns its id. */
  readonly lose: () => Promise<string>;
};

type Handle = ReturnType<Punctual['temporal']['client']['workflow']['getHandle']>;

export type Sweeps = {
  readonly punctual: Punctual;
  readonly receiver: Receiver;
  readonly newWorkspace: (t: ExecutionContext, network: FakeNetwork) => Promise<SweptWorkspace>;
  /** Sweeps as the worker does each minute, with a clock that is `aheadMs` ahead. */
  readonly sweep: (aheadMs?: number, fromMs?: number) => Promise<Swept>;
  readonly postHandle: (id: string) => Handle;
  readonly deliveryHandle: (id: string) => Handle;
};

/**
 * One API, with or without workers, for all sweeps of a file. A sweep covers all workspaces and each test counts the
 * rows, so the tests run serially (`test.serial`), and each test's rows are put away when it ends.
 */
export function sharedSweeps(test: TestFn, { workers }: { readonly workers: boolean }): Sweeps {
  const started = beforeTests(test, async (scope) => {
    const receiver = await startReceiver(scope);
    const options = { networks: fakeNetworks, allowPorts: [receiver.port] };
    const punctual = await startApi(scope, options);
    await (workers && startWorkers(scope, punctual));
    return { punctual, receiver };
  });
  const handle = (id: string): Handle => started().punctual.temporal.client.workflow.getHandle(id);
  return {
    get punctual() {
      return started().punctual;
    },
    get receiver() {
      return started().receiver;
    },
    newWorkspace: (t, network) => newWorkspace(t, started().punctual, network),
    sweep: (aheadMs, fromMs) => sweepLater(started().punctual, aheadMs, fromMs),
    postHandle: (id) => handle(postWorkflowId(id)),
    deliveryHandle: (id) => handle(deliveryWorkflowId(id)),
  };
}

async function newWorkspace(
  t: ExecutionContext,
  punctual: Punctual,
  network: FakeNetwork,
): Promise<SweptWorkspace> {
  const { orm, temporal } = punctual;
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channel = await fakeChannel(punctual, workspaceId, network);
  t.teardown(() => putAway(punctual, workspaceId));
  const schedule = async (inMs: number): Promise<string> => {
    const { body } = await client.post('/posts', {
      body: 'Hello',
      channel_ids: [channel],
      scheduled_at: new Date(Date.now() + inMs).toISOString(),
    });
    await untilTold(punctual, body.post.id);
    await untilBegun(temporal.client.workflow.getHandle(postWorkflowId(body.post.id)));
    return body.post.id;
  };
  return {
    client,
    schedule,
    lose: async () => {
      // Moved close only now, so that a slow setup cannot reach the due time.
      const id = await schedule(1_800_000);
      await temporal.client.workflow.getHandle(postWorkflowId(id)).terminate('lost');
      const soon = new Date(Date.now() + 3000);
      await orm.em.fork().execute('update posts set scheduled_at = ? where id = ?', [soon, id]);
      return id;
    },
  };
}

/** Leaves no row of the workspace that a sweep would read. */
async function putAway({ orm }: Punctual, workspaceId: string): Promise<void> {
  const em = orm.em.fork();
  for (const sql of [
    `update posts set status = 'draft', synced_revision = revision where workspace_id = ?`,
    `update post_channels set status = 'draft' where workspace_id = ? and status in ('publishing', 'retrying')`,
    `update deliveries set status = 'delivered', synced_round = round where workspace_id = ?`,
  ]) {
    await em.execute(sql, [workspaceId]);
  }
}

/** Sweeps with a clock that is `aheadMs` ahead, and repeats queries that a busy Temporal does not answer. */
export const sweepLater = ({ deps }: Punctual, aheadMs = 0, fromMs = Date.now()): Promise<Swept> =>
  sweep({
    ...deps,
    now: () => new Date(fromMs + aheadMs),
    workflows: {
      ...deps.workflows,
      ofPost: (id) => untilAnswered(() => deps.workflows.ofPost(id)),
      ofDelivery: (id) => untilAnswered(() => deps.workflows.ofDelivery(id)),
      knownOfPost: (id) =>
        poll(
          () => deps.workflows.knownOfPost(id),
          (known) => known !== null,
        ),
    },
  });

const untilAnswered = (ask: () => Promise<WorkflowState>): Promise<WorkflowState> =>
  poll(ask, (state) => state !== 'unknown');

/** Waits until the post is synced: on a busy machine the API's notify times out, and there may be no worker. */
async function untilTold({ orm, temporal }: Punctual, postId: string): Promise<void> {
  const sql = 'select id from posts where id = ? and synced_revision < revision';
  await poll(
    async () => {
      const rows = await orm.em.fork().execute<unknown[]>(sql, [postId]);
      await (rows.length > 0 && relayOnce({ orm, client: temporal.client, log: testLog }));
      return rows;
    },
    (rows) => rows.length === 0,
  );
}

/** Delays the next attempt of the network's only channel by an hour, so that a slow test acts before it. */
export const later = () => fails('network_unavailable', { retryAtMs: Date.now() + 3_600_000 });

export const untilChannelIs = ({ client }: SweptWorkspace, id: string, wanted: string) =>
  poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === wanted,
  );
