import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { clientFor, type Client as ApiClient } from '../support/client.ts';
import { seeded } from '../support/simulation/random.ts';
import type { ChaosOptions } from './options.ts';
import { connectChannels, type ChaosChannel } from './networks/connect-channels.ts';
import { openLines, type Lines } from './networks/lines.ts';
import { startRealNetworks } from './networks/real-networks.ts';
import { plannedFaults, type PlannedFaults } from './networks/planned-faults.ts';
import { plannedRefreshes } from './networks/refreshes.ts';
import type { Journal } from './parts/journal.ts';
import { openCues, type Cues } from './parts/cues.ts';
import { startProcesses } from './parts/processes.ts';
import { uploadFiles, type MediaIds } from './parts/upload-files.ts';
import { receiveEvents, type EventReceiver } from './parts/receiver.ts';
import {
  startDatabase,
  startDevTemporal,
  type Database,
  type TemporalServer,
} from './parts/servers.ts';
import type { Supervised } from './parts/supervise.ts';
import { markPost, openTraps } from './parts/traps.ts';
import { workerFaults } from './plan/faults.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';
import { startRealTemporal } from './real/start-server.ts';

/** Everything that runs: product and servers in their own processes, the PDS, all sandboxes and lines in this one. */
export type World = {
  readonly client: ApiClient;
  /** The secret that signs the events. */
  readonly secret: string;
  readonly orm: Orm;
  readonly database: Database;
  readonly temporal: TemporalServer;
  /** Without the gate, for the run itself. */
  readonly temporalClient: Client;
  readonly lines: Lines;
  readonly cues: Cues;
  readonly faults: PlannedFaults;
  readonly receiver: EventReceiver;
  readonly channels: readonly ChaosChannel[];
  /** Ids of the run's files in the media library. */
  readonly mediaIds: MediaIds;
  readonly processes: readonly Supervised[];
};

export type Setting = {
  readonly t: ExecutionContext;
  /** The run's folder. */
  readonly folder: string;
  readonly stage: Stage;
  readonly options: ChaosOptions;
  readonly plan: ChaosPlan;
  readonly journal: Journal;
  /** Whether the user's server may fail now. */
  readonly receiverFails: () => boolean;
};

const eventTypes = ['post.published', 'post.partial', 'post.failed', 'channel.needs_reconnect'];

export async function startWorld(setting: Setting): Promise<World> {
  const { t, folder, stage, options, plan, journal } = setting;
  const [database, temporal, networks] = await Promise.all([
    startDatabase(t, folder, stage),
    (options.server === 'real' ? startRealTemporal : startDevTemporal)(t, folder, stage),
    startRealNetworks(t),
  ]);
  const processes: Supervised[] = [];
  const faults = plannedFaults();
  const refreshFaults = plannedRefreshes();
  const cues = openCues();
  const lines = await openLines(t, networks, plan.channels, {
    folder,
    faults,
    refreshFaults,
    journal,
    cues,
    killWorker: (name) => processes.find((each) => each.name === name)?.kill(),
  });
  const receiver = await receiveEvents(t, seeded(options.seed), setting.receiverFails);
  const secretKey = randomBytes(32).toString('hex');
  const orm = createOrm(database.directUrl, { poolSize: 4 });
  t.teardown(() => orm.close());
  await migrate(database.directUrl);
  const workspaceId = await createWorkspace(orm.em.fork(), 'Chaos');
  const key = await createApiKey(orm.em.fork(), workspaceId);
  const place = { orm, secretKey, workspaceId, networks, lines };
  const channels = await connectChannels(t, place, plan.channels);
  // Not earlier: on a busy machine a short-lived token is refreshed while its account is connected.
  refreshFaults.add(plan.refreshFaults);
  openTraps(folder);
  prepareFaults({ folder, faults }, plan.posts);
  const { url, started } = await startProcesses(stage, {
    folder,
    databaseUrl: database.url,
    temporalEnv: temporal.env,
    secretKey,
    allowPorts: [...lines.all.map(({ port: each }) => each), receiver.port],
  });
  processes.push(...started);
  const client = clientFor(url, workspaceId, key);
  const hook = await client.post('/webhooks', { url: receiver.url, events: eventTypes });
  const { secret } = hook.body.webhook;
  const mediaIds = await uploadFiles(client, url);
  const parts = { database, temporal, lines, faults, cues, receiver, mediaIds };
  const temporalClient = connectDirectly(t, temporal);
  return { client, secret, orm, channels, processes, temporalClient, ...parts };
}

function connectDirectly(
  t: ExecutionContext,
  { directAddress, namespace }: TemporalServer,
): Client {
  const connection = Connection.lazy({ address: directAddress });
  t.teardown(() => connection.close());
  return new Client({ connection, namespace });
}

/** Terminates a workflow. @returns whether it was running and Temporal responded within 2 s. */
export async function terminate({ temporalClient }: World, workflowId: string): Promise<boolean> {
  try {
    await temporalClient.withDeadline(Date.now() + 2000, () =>
      temporalClient.workflow.getHandle(workflowId).terminate('chaos'),
    );
    return true;
  } catch {
    return false; // It has ended or has not begun, or Temporal is unavailable.
  }
}

/** Plans the faults of these posts. */
export function prepareFaults(
  { folder, faults: ofLines }: { readonly folder: string; readonly faults: PlannedFaults },
  posts: readonly PostPlan[],
): void {
  ofLines.add(posts);
  const byWorker: readonly string[] = workerFaults;
  for (const { marker, faults } of posts) {
    for (const planned of faults.filter(({ fault }) => byWorker.includes(fault))) {
      markPost(folder, marker, planned);
    }
  }
}
