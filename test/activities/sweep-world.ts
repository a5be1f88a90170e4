import type { ExecutionContext } from 'ava';
import { sweep, type Swept } from '../../activities/sweep/sweep.ts';
import type { WorkflowState } from '../../domain/workflow-state.ts';
import { relayOnce } from '../../worker/relay.ts';
import { deliveryWorkflowId, postWorkflowId } from '../../workflows/messages.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import type { FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

export type SweepWorld<N extends FakeNetwork = FakeNetwork> = {
  readonly network: N;
  readonly punctual: Punctual;
  readonly client: Client;
  /** @returns the id of a post that is due in so many milliseconds and of which Temporal has heard. */
  readonly schedule: (inMs: number) => Promise<string>;
  /** Looks through everything as the worker does each minute, by a clock that is ahead by so many milliseconds. */
  readonly sweep: (aheadMs?: number) => Promise<Swept>;
  /** What was found so far, in order: kind, post, delivery. */
  readonly finds: () => Promise<
    { kind: string; post_id: string | null; delivery_id: string | null }[]
  >;
  readonly postHandle: (id: string) => ReturnType<Workflows['getHandle']>;
  readonly deliveryHandle: (id: string) => ReturnType<Workflows['getHandle']>;
};

type Workflows = Punctual['temporal']['client']['workflow'];

/** An API and workers, whose posts and deliveries a test may take from Temporal. */
export async function sweepWorld<N extends FakeNetwork>(
  t: ExecutionContext,
  network: N,
  options: ApiOptions & { readonly withoutWorkers?: boolean } = {},
): Promise<SweepWorld<N>> {
  const punctual = await startApi(t, { networks: { fake: network }, ...options });
  if (!options.withoutWorkers) {
    await startWorkers(t, punctual);
  }

  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const { workflow } = punctual.temporal.client;
  const postHandle = (id: string) => workflow.getHandle(postWorkflowId(id));
  return {
    network,
    punctual,
    client,
    postHandle,
    deliveryHandle: (id) => workflow.getHandle(deliveryWorkflowId(id)),
    schedule: async (inMs) => {
      const { body } = await client.post('/posts', {
        body: 'Hello',
        channel_ids: [channel],
        scheduled_at: new Date(Date.now() + inMs).toISOString(),
      });
      await untilTold(punctual);
      await untilBegun(postHandle(body.post.id));
      return body.post.id;
    },
    sweep: (aheadMs = 0) => sweepLater(punctual, aheadMs),
    finds: () =>
      punctual.orm.em
        .fork()
        .execute('select kind, post_id, delivery_id from sweep_finds order by found_at, id'),
  };
}

/** A sweep by a clock that is ahead by so many milliseconds, with patience for a Temporal on a busy machine. */
export const sweepLater = ({ deps }: Punctual, aheadMs: number): Promise<Swept> =>
  sweep({
    ...deps,
    now: () => new Date(Date.now() + aheadMs),
    workflows: {
      ofPost: (id) => untilAnswered(() => deps.workflows.ofPost(id)),
      ofDelivery: (id) => untilAnswered(() => deps.workflows.ofDelivery(id)),
    },
  });

const untilAnswered = (ask: () => Promise<WorkflowState>): Promise<WorkflowState> =>
  poll(ask, (state) => state !== 'unknown');

/** Waits until Temporal has heard of all posts: on a busy machine the API gives up, and there may be no worker. */
async function untilTold({ orm, temporal }: Punctual): Promise<void> {
  const sql = 'select id from posts where synced_revision < revision';
  await poll(
    async () => {
      const rows = await orm.em.fork().execute<unknown[]>(sql);
      await (rows.length > 0 && relayOnce({ orm, client: temporal.client, log: testLog }));
      return rows;
    },
    (rows) => rows.length === 0,
    90_000,
  );
}
