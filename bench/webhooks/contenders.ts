import { readFile } from 'node:fs/promises';
import { newId } from '../../db/new-id.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { syncDelivery } from '../../temporal/sync-delivery.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../workflows/messages.ts';
import { type Delivery, seedDeliveries } from './seed.ts';
import { askReceiver, type World } from './world.ts';

/** A measured system. */
export type Contender = {
  readonly name: 'punctual' | 'bare';
  /** The entry point of its worker. */
  readonly main: string;
  /** @param arrivalsFile A file for the arrivals that a worker records. */
  readonly workerEnv: (world: World, arrivalsFile: string) => Readonly<Record<string, string>>;
  /** Creates this many deliveries without workflows. */
  readonly prepare: (world: World, count: number) => Promise<readonly Delivery[]>;
  /** Starts the workflow. */
  readonly start: (world: World, temporal: Temporal, delivery: Delivery) => Promise<unknown>;
  /** The arrivals, after the worker has ended. */
  readonly arrivals: (world: World, arrivalsFile: string) => Promise<Arrivals>;
  /** @throws Error when a delivery is not stored as delivered by its first attempt. */
  readonly assertDone: (world: World, deliveries: readonly Delivery[]) => Promise<void>;
};

/** Marks of deliveries and their times in milliseconds since 1970. A repeated arrival has two entries. */
export type Arrivals = readonly (readonly [mark: string, atMs: number])[];

/** Spread over many users, so that the few slots of an endpoint do not delay the others. */
const spread = { workspaces: 100, endpoints: 2, answer: 'take' } as const;

export const punctual: Contender = {
  name: 'punctual',
  main: 'worker/main.ts',
  workerEnv: (world) => world.workerEnv,
  prepare: (world, count) => seedDeliveries(world, { ...spread, deliveries: count }),
  start: ({ orm }, { client }, { workspaceId, deliveryId }) =>
    syncDelivery(client, orm.em.fork(), { workspaceId, deliveryId, round: 1 }),
  arrivals: async ({ receiver }) => (await askReceiver(receiver.url)).arrivals,
  assertDone: async ({ orm }, deliveries) => {
    const workspaces = [...new Set(deliveries.map(({ workspaceId }) => workspaceId))];
    const [row] = await orm.em.fork().execute<{ attempts: number; delivered: number }[]>(
      `select count(*)::int as attempts,
         count(distinct d.id) filter (where d.status = 'delivered' and a.response_status = 204)::int as delivered
       from deliveries d join delivery_attempts a on a.delivery_id = d.id and a.workspace_id = d.workspace_id
       where d.workspace_id in (?)`,
      [workspaces],
    );
    if (row?.attempts !== deliveries.length || row.delivered !== deliveries.length) {
      throw new Error(`Of ${deliveries.length} deliveries: ${JSON.stringify(row)}.`);
    }
  },
};

export const bare: Contender = {
  name: 'bare',
  main: 'bench/webhooks/bare-worker.ts',
  workerEnv: (_world, arrivalsFile) => ({ BENCH_ARRIVALS: arrivalsFile }),
  prepare: (_world, count) =>
    Promise.resolve(
      Array.from({ length: count }, () => {
        const deliveryId = newId();
        return { workspaceId: newId(), deliveryId, mark: deliveryId };
      }),
    ),
  start: (_world, { client }, { workspaceId, deliveryId }) =>
    client.workflow.start('bareDelivery', {
      taskQueue: webhooksQueue,
      workflowId: deliveryWorkflowId(deliveryId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ workspaceId, deliveryId }],
    }),
  arrivals: async (_world, file) => JSON.parse(await readFile(file, 'utf8')) as Arrivals,
  // Ended workflows are all there is to check.
  assertDone: () => Promise.resolve(),
};
