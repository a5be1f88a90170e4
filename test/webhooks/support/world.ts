import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import type { DeliveryView } from '../../../api/webhooks/load-deliveries.ts';
import { recordEvent } from '../../../db/record-event.ts';
import { newClient, type Client } from '../../support/client.ts';
import { startApi, type ApiOptions, type Punctual } from '../../support/punctual.ts';
import type { Answer } from './answers.ts';
import { openStage, type Stage, type StagedReceiver } from './stage.ts';

// An attempt that failed is what these tests are about; it is no news.
const logger = new DefaultLogger('ERROR');

export type World = {
  readonly punctual: Punctual;
  readonly stage: Stage;
  /** A workspace of the test's own with an endpoint of its own. */
  readonly subscribe: (answer?: Answer) => Promise<Subscribed>;
};

/** What came of one attempt. */
export type Attempted =
  | { readonly kind: 'done'; readonly status: 'delivered' | 'failed' | 'gone' }
  /** @param inMs Null where Temporal's own policy says when. */
  | { readonly kind: 'again'; readonly code: string; readonly inMs: number | null };

export type Subscribed = {
  readonly client: Client;
  readonly workspaceId: string;
  readonly webhookId: string;
  readonly secret: string;
  readonly receiver: StagedReceiver;
  /** What attempts work with. Its clock is the machine's, and ahead by what has passed. */
  readonly deps: ActivityDeps;
  /** Moves the clock of attempts and events. In milliseconds. */
  readonly pass: (ms: number) => void;
  /** Stores an event as the worker does. @returns its delivery's id; '' when there is none. */
  readonly event: (data?: object) => Promise<string>;
  /** One attempt, as Temporal would have it made. @param deps Others than its own. */
  readonly attempt: (deliveryId: string, deps?: Partial<ActivityDeps>) => Promise<Attempted>;
  /** The delivery as the API shows it. */
  readonly shown: (deliveryId: string) => Promise<DeliveryView>;
};

/** An API without workers: a test makes the attempts itself, and nobody is between them but the clock. */
export async function startWorld(
  scope: ExecutionContext,
  options: Omit<ApiOptions, 'allowPorts'> = {},
): Promise<World> {
  const stage = await openStage(scope);
  const punctual = await startApi(scope, { ...options, allowPorts: [stage.port] });
  const subscribe = (answer?: Answer): Promise<Subscribed> =>
    subscribed(punctual, stage.receiver(answer));
  return { punctual, stage, subscribe };
}

/** A workspace with an endpoint that leads to the receiver. */
export async function subscribed(
  punctual: Punctual,
  receiver: StagedReceiver,
): Promise<Subscribed> {
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id: webhookId, secret } = (await client.post('/webhooks', hook)).body.webhook;
  let aheadMs = 0;
  const now = (): Date => new Date(Date.now() + aheadMs);
  const deps: ActivityDeps = { ...punctual.deps, now };
  return {
    client,
    workspaceId,
    webhookId,
    secret,
    receiver,
    deps,
    pass: (ms) => {
      aheadMs += ms;
    },
    event: (data = {}) => storeEvent(deps, workspaceId, data),
    attempt: (deliveryId, others = {}) =>
      attempted({ ...deps, ...others }, { workspaceId, deliveryId }),
    shown: async (deliveryId) => {
      const { body } = await client.get(`/webhooks/${webhookId}`);
      return body.deliveries.find((one: DeliveryView) => one.id === deliveryId);
    },
  };
}

const storeEvent = (
  { orm, now }: ActivityDeps,
  workspaceId: string,
  data: object,
): Promise<string> =>
  orm.em.fork().transactional(async (em) => {
    const event = { workspaceId, type: 'post.failed' as const, createdAt: now(), data };
    const [id = ''] = await recordEvent(em, event);
    return id;
  });

async function attempted(
  deps: ActivityDeps,
  request: Parameters<typeof attemptDelivery>[1],
): Promise<Attempted> {
  try {
    const environment = new MockActivityEnvironment({}, { logger });
    return { kind: 'done', status: await environment.run(attemptDelivery, deps, request) };
  } catch (error) {
    if (error instanceof ApplicationFailure) {
      const inMs = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : null;
      return { kind: 'again', code: error.type ?? '', inMs };
    }

    throw error;
  }
}
