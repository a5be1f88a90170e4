import { newId } from '../../db/new-id.ts';
import { insertRows } from '../whole/insert-rows.ts';
import { columns, deliveryRow, endpointRow, eventRow, type Endpoint } from './rows.ts';
import type { World } from './world.ts';

/** A stored delivery, and what the receiver writes down when it comes. */
export type Delivery = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly mark: string;
};

export type SeedPlan = {
  readonly deliveries: number;
  readonly workspaces: number;
  /** Of each workspace. Every event goes to all of them. */
  readonly endpoints: number;
  /** Whether the receiver answers at once or never. */
  readonly answer: 'take' | 'hang';
};

/**
 * Stores events with their deliveries as if posts of many users had ended, workspace by workspace in turn. They count
 * as told of, so that the worker's relay does not tell Temporal of them as well.
 */
export async function seedDeliveries(
  { orm, sealer, receiver }: Pick<World, 'orm' | 'sealer' | 'receiver'>,
  plan: SeedPlan,
): Promise<Delivery[]> {
  const workspaces = Array.from({ length: plan.workspaces }, () => newWorkspace(plan));
  const events = Array.from({ length: Math.ceil(plan.deliveries / plan.endpoints) }, (_, n) =>
    newEvent(workspaces[n % workspaces.length]),
  );
  const deliveries = events.flatMap((event) => event.deliveries).slice(0, plan.deliveries);
  const at = new Date();
  const em = orm.em.fork();
  const insert = (table: keyof typeof columns, rows: readonly object[]): Promise<void> =>
    insertRows(em, { table, columns: columns[table] }, rows);
  await insert(
    'workspaces',
    workspaces.map(({ id }) => ({ id, name: 'Bench', plan: 'standard', created_at: at })),
  );
  const endpoints = workspaces.flatMap((workspace) => workspace.endpoints);
  await insert(
    'webhook_endpoints',
    endpoints.map((endpoint) => endpointRow(sealer, receiver.url, endpoint, at)),
  );
  await insert(
    'events',
    events.map((event) => eventRow(event, at)),
  );
  await insert(
    'deliveries',
    deliveries.map((delivery) => deliveryRow(delivery, at)),
  );
  return deliveries.map(({ id, workspaceId, mark }) => ({ deliveryId: id, workspaceId, mark }));
}

type Workspace = { readonly id: string; readonly endpoints: readonly Endpoint[] };

function newWorkspace({ endpoints, answer }: SeedPlan): Workspace {
  const workspaceId = newId();
  const newEndpoint = (id: string): Endpoint => ({ id, workspaceId, path: `/${answer}/${id}` });
  return {
    id: workspaceId,
    endpoints: Array.from({ length: endpoints }, () => newEndpoint(newId())),
  };
}

function newEvent(workspace: Workspace | undefined) {
  if (!workspace) {
    throw new Error('There is no workspace to have an event.');
  }

  const eventId = newId();
  const { id: workspaceId, endpoints } = workspace;
  const deliveries = endpoints.map(({ id: endpointId, path }) => {
    return { id: newId(), workspaceId, endpointId, eventId, mark: `${path} ${eventId}` };
  });
  return { id: eventId, workspaceId, deliveries };
}
