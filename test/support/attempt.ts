import { randomBytes } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { ExecutionContext } from 'ava';
import { composeActivities, type ActivityDeps } from '../../activities/deps.ts';
import type { Network } from '../../networks/network.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { createStorage } from '../../runtime/storage/create-storage.ts';
import { composeServices } from '../../services/compose.ts';
import type { HeldClock } from './database-clock.ts';
import { networksWith } from './networks.ts';
import { noWorkflows } from './no-workflows.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { testLog } from './temporal.ts';

// Most of these tests are about failed attempts, so warnings about them are only noise.
const logger = new DefaultLogger('ERROR');

/** The outcome of one attempt: the activity's return value, or the retry that it asks Temporal for. */
export type Attempted<Result> =
  | ({ readonly kind: 'done' } & (Result extends string ? { readonly status: Result } : Result))
  | {
      readonly kind: 'again';
      readonly code: string;
      /** Null when Temporal's retry policy decides. */
      readonly inMs: number | null;
    };

/** Temporal's info about an attempt. The default timeout is too short for the product to repeat a request within the attempt. */
export type AttemptInfo = {
  readonly startToCloseTimeoutMs?: number;
  /** What an earlier attempt left. */
  readonly heartbeatDetails?: unknown;
  /** Called with the details of each heartbeat. */
  readonly onHeartbeat?: (details: unknown) => void;
};

/** Runs an activity once, as Temporal would. @throws every error other than an ApplicationFailure. */
export async function attempt<Request, Result>(
  activity: (deps: ActivityDeps, request: Request) => Promise<Result>,
  deps: ActivityDeps,
  request: Request,
  { onHeartbeat, ...info }: AttemptInfo = {},
): Promise<Attempted<Result>> {
  try {
    const environment = new MockActivityEnvironment(info, { logger });
    environment.on('heartbeat', (details: unknown) => onHeartbeat?.(details));
    const result: Result = await environment.run(activity, deps, request);
    const done = typeof result === 'string' ? { status: result } : result;
    return { kind: 'done', ...done } as Attempted<Result>;
  } catch (error) {
    if (error instanceof ApplicationFailure) {
      const inMs = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : null;
      return { kind: 'again', code: error.type ?? '', inMs };
    }

    throw error;
  }
}

/** The start of the clock in `activityDeps`. */
export const clockStartMs = Date.parse('2026-05-01T12:00:00Z');

/** Dependencies of activities: real except for the networks and the clock, and without Temporal. */
export async function activityDeps(
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  { orm, now }: HeldClock,
): Promise<ActivityDeps> {
  const config = readConfig({
    DATABASE_URL: 'postgresql://127.0.0.1/unused', // `orm` is open.
    SECRET_KEY: randomBytes(32).toString('hex'),
    PUNCTUAL_PUBLIC_URL: 'https://punctual.example',
    PUNCTUAL_MEDIA_DIR: await temporaryFolder(t),
  });
  const services = composeServices(config, networksWith(networks), { orm, guardsNetworks: true });
  t.teardown(services.closeEgress);
  const storage = createStorage(config.media);
  const own = { networks, storage, workflows: noWorkflows, log: testLog, now };
  return { ...composeActivities(config, services, own), oauth: {} };
}
