import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { ExecutionContext } from 'ava';
import { ensureSearchAttributes } from '../../temporal/ensure-search-attributes.ts';
import { platforms } from '../../networks/registry.ts';
import { newClient, type Client } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import {
  fakeNetwork,
  type FakeNetwork,
  heldNetwork,
  type HeldNetwork,
} from '../support/networks.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

/** A service whose workflows are recorded. */
export type Stage = {
  readonly punctual: Punctual;
  readonly client: Client;
  readonly receiver: Receiver;
  /** Sets the receiver's next response status. */
  readonly answer: (status: number) => void;
  /** The network of each post's first channel. */
  readonly first: FakeNetwork;
  readonly firstName: string;
  /** Both hold their first post until they are released. */
  readonly held: readonly [HeldNetwork, HeldNetwork];
  /** Schedules a post. @returns its id. */
  readonly schedule: (minutes: number, names?: readonly string[]) => Promise<string>;
  readonly handleOf: (workflowId: string, minEvents?: number) => Promise<WorkflowHandle>;
};

/** @param temporalEnv Settings of another Temporal than the shared one. */
export async function openStage(
  t: ExecutionContext,
  temporalEnv?: Record<string, string>,
): Promise<Stage> {
  let status = 204;
  const receiver = await startReceiver(t, () => status);
  const held = [heldNetwork(), heldNetwork()] as const;
  const [firstName, secondName] = platforms as readonly [string, string];
  const first = fakeNetwork();
  const fakes = Object.fromEntries(platforms.map((name) => [name, fakeNetwork()]));
  const networks = { ...fakes, [firstName]: first, held: held[0], 'held-too': held[1] };
  const options = { networks, allowPorts: [receiver.port] };
  const punctual = await startApi(t, { ...options, ...(temporalEnv ? { temporalEnv } : {}) });
  await ensureSearchAttributes(punctual.temporal, testLog);
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const channels: Record<string, string> = {};
  for (const name of Object.keys(networks)) {
    channels[name] = await addFakeChannel(punctual.deps, client.workspaceId, name);
  }

  return {
    punctual,
    client,
    receiver,
    answer: (next) => {
      status = next;
    },
    first,
    firstName,
    held,
    schedule: async (minutes, names = [firstName, secondName]) => {
      const { body } = await client.post('/posts', {
        body: 'A text that must not be in any history',
        channel_ids: names.map((name) => channels[name]),
        schedule_in_minutes: minutes,
      });
      return body.post.id;
    },
    handleOf: (workflowId, minEvents = 1) =>
      untilBegun(punctual.temporal.client.workflow.getHandle(workflowId), minEvents),
  };
}

/**
 * Writes the current history of a workflow's newest run.
 *
 * @throws Error when the file exists, because stored histories are never replaced.
 */
export async function record(folder: string, name: string, handle: WorkflowHandle): Promise<void> {
  const history = await handle.fetchHistory();
  // Removes the recording machine's name from worker identities and from the queues that contain them, and its folder
  // from the stacks of errors.
  const json = historyToJSON(history)
    .replaceAll(/"\d+@[^"]*?(?=(?:-[0-9a-f]{32})?")/gv, '"recorder')
    .replaceAll(process.cwd(), '');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, `${name}.json`), `${JSON.stringify(JSON.parse(json))}\n`, {
    flag: 'wx',
  });
  console.log(`${name}: ${history.events?.length} events`);
}
