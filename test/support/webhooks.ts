import type { ExecutionContext, TestFn } from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import type { DeliveryView } from '../../api/webhooks/load-deliveries.ts';
import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { Answer } from './answers.ts';
import { attempt, type Attempted } from './attempt.ts';
import { newClient, type Client } from './client.ts';
import { beforeTests, type SharedApi } from './kit.ts';
import { fakeNetworks } from './networks.ts';
import { patient } from './patient-egress.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';
import { openReceivers, type Receivers, type TestReceiver } from './receivers.ts';
import { storeDelivery } from './seed-deliveries.ts';

type Options = Omit<ApiOptions, 'allowPorts'> & {
  /** Ports on 127.0.0.1 that webhooks may go to, beside that of the receivers. */
  readonly allowPorts?: readonly number[];
  /** Whether there are workers, too, whose requests never give up; otherwise a test makes the attempts itself. */
  readonly workers?: true;
};

/** What came of one attempt to deliver. */
export type AttemptedDelivery = Attempted<'delivered' | 'failed' | 'gone'>;

/** An endpoint of a new workspace, and what happens there. */
export type Subscription = {
  readonly client: Client;
  readonly workspaceId: string;
  readonly webhookId: string;
  readonly secret: string;
  /** `/webhooks/<id>` */
  readonly path: string;
  readonly receiver: TestReceiver;
  /**
   * What attempts work with. Their clock is the test's: it stands still until `pass`. Their requests never give up: on a
   * slow machine a receiver that is well may take longer than the product's ten seconds.
   */
  readonly deps: ActivityDeps;
  readonly now: () => Date;
  /** Moves the clock of attempts and events. In milliseconds. */
  readonly pass: (ms: number) => void;
  /** Stores an event as the worker does. @returns its delivery's id; '' when there is none. */
  readonly event: (data?: object) => Promise<string>;
  /** Stores an event and a delivery of it that has come so far. @returns the delivery's id. */
  readonly store: (status: DeliveryStatus, at?: Date) => Promise<string>;
  /** One attempt, as Temporal would have it made. @param deps Others than its own. */
  readonly attempt: (
    deliveryId: string,
    deps?: Partial<ActivityDeps>,
  ) => Promise<AttemptedDelivery>;
  /** The delivery as the API shows it. */
  readonly shown: (deliveryId: string) => Promise<DeliveryView>;
};

/** An API whose webhooks have somewhere to go. */
export type Webhooks = SharedApi &
  Receivers & {
    /** Makes a workspace with an endpoint that leads to a receiver of its own. */
    readonly subscribe: (answer?: Answer) => Promise<Subscription>;
  };

/** Starts an API and receivers for all tests of a file. Call it before the first test. */
export function sharedWebhooks(test: TestFn, options: Options = {}): Webhooks {
  const started = beforeTests(test, (scope) => startWebhooks(scope, options));
  return {
    get punctual() {
      return started().punctual;
    },
    get port() {
      return started().port;
    },
    newClient: (name) => started().newClient(name),
    receiver: (answer) => started().receiver(answer),
    subscribe: (answer) => started().subscribe(answer),
  };
}

/** The same for one test. */
export async function startWebhooks(
  scope: ExecutionContext,
  { workers, allowPorts = [], ...options }: Options = {},
): Promise<Webhooks> {
  const receivers = await openReceivers(scope);
  const punctual = await startApi(scope, {
    networks: fakeNetworks,
    ...options,
    allowPorts: [receivers.port, ...allowPorts],
  });
  if (workers) {
    const egress = patient(punctual.deps.egress);
    await startWorkers(scope, { ...punctual, deps: { ...punctual.deps, egress } });
  }

  return {
    ...receivers,
    punctual,
    newClient: (name) => newClient(punctual, name),
    subscribe: (answer) => subscribe(punctual, receivers.receiver(answer)),
  };
}

async function subscribe(punctual: Punctual, receiver: TestReceiver): Promise<Subscription> {
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id: webhookId, secret } = (await client.post('/webhooks', hook)).body.webhook;
  let nowMs = Date.now();
  const now = (): Date => new Date(nowMs);
  const deps: ActivityDeps = { ...punctual.deps, now, egress: patient(punctual.deps.egress) };
  const path = `/webhooks/${webhookId}`;
  return {
    client,
    workspaceId,
    webhookId,
    secret,
    path,
    receiver,
    deps,
    now,
    pass: (ms) => {
      nowMs += ms;
    },
    event: (data = {}) => storeEvent(deps, workspaceId, data),
    store: (status, at = now()) => storeDelivery(punctual, workspaceId, status, at),
    attempt: (deliveryId, others = {}) =>
      attempt(attemptDelivery, { ...deps, ...others }, { workspaceId, deliveryId }),
    shown: async (deliveryId) => {
      const { body } = await client.get(path);
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
