import { eventBody } from '../../db/record-event.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import { newSigningSecret } from '../../runtime/token.ts';

// Rows as the product stores them.

/** What is stored of each table; what is left out is as PostgreSQL has it. */
export const columns = {
  workspaces: 'id, name, plan, created_at',
  webhook_endpoints: 'id, workspace_id, url, events, sealed_secret, secret_hint, created_at',
  events: 'id, workspace_id, type, body, created_at',
  deliveries:
    'id, workspace_id, endpoint_id, event_id, status, round, synced_round, attempts_before, next_attempt_at, created_at',
} as const;

export type Endpoint = {
  readonly id: string;
  readonly workspaceId: string;
  /** At the receiver. */
  readonly path: string;
};

const eventType = 'post.published';

export const endpointRow = (
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

export const eventRow = (
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
  at: Date,
) => ({
  id,
  workspace_id: workspaceId,
  type: eventType,
  body: eventBody(id, { workspaceId, type: eventType, createdAt: at, data: { post } }),
  created_at: at,
});

/** About as large as they are. */
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

export const deliveryRow = ({ id, workspaceId, endpointId, eventId }: Ids, at: Date) => ({
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
