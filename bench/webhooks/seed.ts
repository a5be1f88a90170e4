import { newId } from '../../db/new-id.ts';
import { eventBody } from '../../db/record-event.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { newSigningSecret, type Sealer } from '../../runtime/secrets.ts';
import { insertRows } from '../runner/seed-posts.ts';
import type { World } from './world.ts';

/** A stored delivery, and the mark that the receiver records for it. */
export type Delivery = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly mark: string;
};

export type SeedPlan = {
  readonly deliveries: number;
  readonly workspaces: number;
  /** Number per workspace. Every event goes to all of them. */
  readonly endpoints: number;
  /** Whether the receiver responds immediately or never. */
  readonly answer: 'take' | 'hang';
};

/**
 * Stores events with their deliveries as if posts of many users had ended, alternating between workspaces. They are
 * stored as synced, so that the worker's relay does not sync them too.
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
    throw new Error('No workspace was created.');
  }

  const eventId = newId();
  const { id: workspaceId, endpoints } = workspace;
  const deliveries = endpoints.map(({ id: endpointId, path }) => {
    return { id: newId(), workspaceId, endpointId, eventId, mark: `${path} ${eventId}` };
  });
  return { id: eventId, workspaceId, deliveries };
}

/** Columns that are set; the others have their defaults. */
const columns = {
  workspaces: 'id, name, plan, created_at',
  webhook_endpoints: 'id, workspace_id, url, events, sealed_secret, secret_hint, created_at',
  events: 'id, workspace_id, type, body, created_at',
  deliveries:
    'id, workspace_id, endpoint_id, event_id, status, round, synced_round, attempts_before, next_attempt_at, created_at',
} as const;

type Endpoint = {
  readonly id: string;
  readonly workspaceId: string;
  /** Path at the receiver. */
  readonly path: string;
};

const eventType = 'post.published';

const endpointRow = (
  sealer: Sealer,
  receiver: string,
  { id, workspaceId, path }: Endpoint,
  at: Date,
) => ({
  id,
  workspace_id: workspaceId,
  url: `${receiver}${path}`,
  events: [eventType],
  sealed_secret: sealer.seal(newSigningSecret(), signingSecretPurpose(id)),
  secret_hint: 'whsec_…none',
  created_at: at,
});

const eventRow = (
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
  at: Date,
) => ({
  id,
  workspace_id: workspaceId,
  type: eventType,
  body: eventBody(id, { workspaceId, type: eventType, createdAt: at, data: { post } }),
  created_at: at,
});

/** About as large as a real one. */
const post = {
  id: crypto.randomUUID(),
  status: 'published',
  body: `A post of the benchmark, about as long as posts are. ${'So it goes. '.repeat(8)}`,
  channels: ['mastodon', 'bluesky'].map((platform) => ({
    channel_id: crypto.randomUUID(),
    status: 'published',
    platform,
    handle: '@bench@social.example',
    url: `https://social.example/@bench/${crypto.randomUUID()}`,
    error: null,
    body: null,
    metrics: null,
  })),
};

type Ids = {
  readonly id: string;
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly eventId: string;
};

const deliveryRow = ({ id, workspaceId, endpointId, eventId }: Ids, at: Date) => ({
  id,
  workspace_id: workspaceId,
  endpoint_id: endpointId,
  event_id: eventId,
  status: 'pending',
  round: 1,
  synced_round: 1,
  attempts_before: 0,
  next_attempt_at: at,
  created_at: at,
});
