import type { ExecutionContext, TestFn } from 'ava';
import { sweep, type Swept } from '../../activities/sweep/sweep.ts';
import type { WorkflowState } from '../../domain/workflow-state.ts';
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

/** A workspace whose posts and deliveries a test may take from Temporal. */
export type SweptWorkspace = {
  readonly client: Client;
  /** @returns the id of a post that is due in so many milliseconds and of which Temporal has heard. */
  readonly schedule: (inMs: number) => Promise<string>;
  /** Schedules a post that its workflow forgets, and that is due in some seconds. @returns its id. */
  readonly lose: () => Promise<string>;
  /** What was found so far, in order: kind, post, delivery. */
  readonly finds: () => Promise<
    { kind: string; post_id: string | null; delivery_id: string | null }[]
  >;
};

type Handle = ReturnType<Punctual['temporal']['client']['workflow']['getHandle']>;

export type Sweeps = {
  readonly punctual: Punctual;
  readonly receiver: Receiver;
  readonly newWorkspace: (t: ExecutionContext, network: FakeNetwork) => Promise<SweptWorkspace>;
  /** Looks through everything as the worker does each minute, by a clock that is ahead by so many milliseconds. */
  readonly sweep: (aheadMs?: number, fromMs?: number) => Promise<Swept>;
  readonly postHandle: (id: string) => Handle;
  readonly deliveryHandle: (id: string) => Handle;
};

/**
 * One API, with workers or without, for all sweeps of a file. A sweep looks at all workspaces, and each test counts what
 * it looked at: they come one after the other (`test.serial`), and each puts away what it made.
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
      // Only then is it due soon: however long all this takes, its time has not come before.
      const id = await schedule(1_800_000);
      await temporal.client.workflow.getHandle(postWorkflowId(id)).terminate('lost');
      const soon = new Date(Date.now() + 3000);
      await orm.em.fork().execute('update posts set scheduled_at = ? where id = ?', [soon, id]);
      return id;
    },
    finds: () => {
      const sql = `select kind, post_id, delivery_id from sweep_finds
                   where workspace_id = ? order by found_at, id`;
      return orm.em.fork().execute(sql, [workspaceId]);
    },
  };
}

/** Leaves nothing of a workspace that a sweep would look at. */
async function putAway({ orm }: Punctual, workspaceId: string): Promise<void> {
  const em = orm.em.fork();
  for (const sql of [
    `update posts set status = 'draft', synced_revision = revision where workspace_id = ?`,
    `update post_channels set status = 'draft' where workspace_id = ? and status in ('publishing', 'retrying')`,
    `update deliveries set status = 'delivered', synced_round = round where workspace_id = ?`,
    `delete from sweep_finds where workspace_id = ?`,
  ]) {
    await em.execute(sql, [workspaceId]);
  }
}

/** A sweep by a clock that is ahead by so many milliseconds, with patience for a Temporal on a busy machine. */
export const sweepLater = ({ deps }: Punctual, aheadMs = 0, fromMs = Date.now()): Promise<Swept> =>
  sweep({
    ...deps,
    now: () => new Date(fromMs + aheadMs),
    workflows: {
      ...deps.workflows,
      ofPost: (id) => untilAnswered(() => deps.workflows.ofPost(id)),
      ofDelivery: (id) => untilAnswered(() => deps.workflows.ofDelivery(id)),
    },
  });

const untilAnswered = (ask: () => Promise<WorkflowState>): Promise<WorkflowState> =>
  poll(ask, (state) => state !== 'unknown');

/** Waits until Temporal has heard of a post: on a busy machine the API gives up, and there may be no worker. */
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

/** The network's only channel is to be tried again, in an hour: however slow the test is, not before its next step. */
export const later = () => fails('network_unavailable', { retryAtMs: Date.now() + 3_600_000 });

export const untilChannelIs = ({ client }: SweptWorkspace, id: string, wanted: string) =>
  poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === wanted,
  );
