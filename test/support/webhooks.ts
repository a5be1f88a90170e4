import type { ExecutionContext, TestFn } from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import type { DeliveryView } from '../../services/webhooks/read-deliveries.ts';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { Answer } from './answers.ts';
import { attempt, type Attempted, type AttemptInfo } from './attempt.ts';
import { newClient, type Client } from './client.ts';
import { heldClock, type HeldClock } from './database-clock.ts';
import { beforeTests, type SharedApi } from './kit.ts';
import { fakeNetworks } from './networks.ts';
import { withoutTimeouts } from './egress-without-timeouts.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';
import { openReceivers, type Receivers, type TestReceiver } from './receivers.ts';
import { storeDelivery } from './seed-deliveries.ts';

type Options = Omit<ApiOptions, 'allowPorts'> & {
  /** Ports on 127.0.0.1 that webhooks may use, in addition to the receivers'. */
  readonly allowPorts?: readonly number[];
  /** Also starts workers, whose requests never time out. Without them, the test makes the attempts itself. */
  readonly workers?: true;
};

/** The outcome of one delivery attempt. */
export type AttemptedDelivery = Attempted<'delivered' | 'failed' | 'gone'>;

/** An endpoint of a new workspace, with its receiver. */
export type Subscription = {
  readonly client: Client;
  readonly workspaceId: string;
  readonly webhookId: string;
  readonly secret: string;
  /** `/webhooks/<id>` */
  readonly path: string;
  readonly receiver: TestReceiver;
  /**
   * Dependencies of attempts. Their requests never time out: on a slow machine a healthy receiver may exceed the
   * product's ten seconds.
   */
  readonly deps: ActivityDeps;
  readonly now: () => Date;
  /**
   * Moves the clock of attempts and events, which is the database's, in milliseconds. The clock follows the machine's
   * until the first call, and stops from then on.
   */
  readonly pass: (ms: number) => void;
  /** Resolves when the database's clock has the latest time. */
  readonly caughtUp: () => Promise<void>;
  /** Stores an event as the worker does. @returns its delivery's id; '' when there is none. */
  readonly event: (data?: object) => Promise<string>;
  /** Stores an event and a delivery of it with this status. @returns the delivery's id. */
  readonly store: (status: DeliveryStatus, at?: Date) => Promise<string>;
  /** Makes one attempt as Temporal would. @param deps Replace its own. @param info From Temporal. */
  readonly attempt: (
    deliveryId: string,
    deps?: Partial<ActivityDeps>,
    info?: AttemptInfo,
  ) => Promise<AttemptedDelivery>;
  /** The delivery as the API shows it. */
  readonly shown: (deliveryId: string) => Promise<DeliveryView>;
};

/** An API with webhook receivers. */
export type Webhooks = SharedApi &
  Receivers & {
    /** Creates a workspace with an endpoint that leads to a new receiver. */
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
    const webhooks = withoutTimeouts(punctual.deps.webhooks);
    await startWorkers(scope, { ...punctual, deps: { ...punctual.deps, webhooks } });
  }

  return {
    ...receivers,
    punctual,
    newClient: (name) => newClient(punctual, name),
    subscribe: (answer) => subscribe(scope, punctual, receivers.receiver(answer)),
  };
}

async function subscribe(
  scope: ExecutionContext,
  punctual: Punctual,
  receiver: TestReceiver,
): Promise<Subscription> {
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id: webhookId, secret } = (await client.post('/webhooks', hook)).body.webhook;
  const path = `/webhooks/${webhookId}`;
  const clock = clockOf(scope, punctual);
  const depsNow = (): ActivityDeps => ({
    ...punctual.deps,
    now: clock.now,
    orm: clock.orm(),
    webhooks: withoutTimeouts(punctual.deps.webhooks),
  });
  return {
    client,
    workspaceId,
    webhookId,
    secret,
    path,
    receiver,
    get deps() {
      return depsNow();
    },
    now: clock.now,
    pass: clock.pass,
    caughtUp: clock.caughtUp,
    event: async (data = {}) => {
      await clock.caughtUp();
      return storeEvent(depsNow(), workspaceId, data);
    },
    store: async (status, at) => {
      await clock.caughtUp();
      return storeDelivery({ orm: clock.orm() }, workspaceId, status, at);
    },
    attempt: async (deliveryId, others = {}, info = {}) => {
      await clock.caughtUp();
      const deps = { ...depsNow(), ...others };
      return attempt(attemptDelivery, deps, { workspaceId, deliveryId }, info);
    },
    shown: async (deliveryId) => {
      const { body } = await client.get(path);
      return body.deliveries.find((one: DeliveryView) => one.id === deliveryId);
    },
  };
}

/** Follows the machine's clock until the first move, and is held from then on. */
function clockOf(scope: ExecutionContext, { orm, databaseUrl }: Punctual) {
  let held: HeldClock | undefined;
  let nowMs: number | undefined;
  let written: Promise<unknown> = Promise.resolve();
  return {
    now: () => new Date(nowMs ?? Date.now()),
    orm: () => held?.orm ?? orm,
    pass: (ms: number): void => {
      const atMs = (nowMs ?? Date.now()) + ms;
      nowMs = atMs;
      written = written.then(async () => {
        if (held) {
          held.pass(ms);
          await held.caughtUp();
        } else {
          held = await heldClock(scope, databaseUrl, atMs);
        }
      });
    },
    caughtUp: async () => void (await written),
  };
}

const storeEvent = ({ orm }: ActivityDeps, workspaceId: string, data: object): Promise<string> =>
  orm.em.fork().transactional(async (em) => {
    const [id = ''] = await recordEvent(em, { workspaceId, type: 'post.failed', data });
    return id;
  });
