import { activityInfo, type Info } from '@temporalio/activity';
import type { ActivityDeps } from '../../../activities/deps.ts';
import type { Connection, Network, PublishStep } from '../../../networks/network.ts';
import type { OauthEntry } from '../../../networks/oauth/contract.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { runWorker } from '../../../worker/run-worker.ts';
import {
  fallIntoTrap,
  findDeath,
  passMark,
  standStill,
  tellAim,
  terminateInTrap,
} from './traps.ts';
import { uploadHeaders, workerHeader } from '../networks/network-line.ts';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** The time for the read bytes to leave before the process dies, in milliseconds. */
const leavesWithinMs = 200;

/** The same parts, but the process dies when half of the first file has been read. */
const dyingIn = (step: PublishStep, die: () => void): PublishStep => ({
  ...step,
  parts: step.parts.map((part) => ({
    ...part,
    media: part.media.map((file) => ({
      ...file,
      open: async (from = 0) =>
        Readable.from(dyingHalfway(await file.open(from), (file.sizeBytes - from) / 2, die)),
    })),
  })),
});

async function* dyingHalfway(
  stream: Readable,
  half: number,
  die: () => void,
): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const left = Math.max(0, Math.ceil(half) - read);
    const isHalfway = left > 0 && left <= chunk.length;
    yield isHalfway ? chunk.subarray(0, left) : chunk;
    if (isHalfway) {
      await sleep(leavesWithinMs);
      die();
      yield chunk.subarray(left);
    }
    read += chunk.length;
  }
}

// A worker as operators start it, except that it kills or suspends itself at the points that the run asks for, and
// sends its name to the networks, so that a line knows which worker to kill.

const folder = process.env['CHAOS_FOLDER'] ?? '';
const name = process.env['CHAOS_NAME'] ?? '';

const textsOf = ({ parts }: PublishStep): string[] => parts.map(({ text }) => text);

/** The deaths that are due while these attempts record their results. */
const deathsInRecord = new Map<string, { readonly die: () => void; isSent: boolean }>();

/** How much the clock of an aimed attempt is ahead, in milliseconds: more than a minute. */
const lateByMs = 61_000;
/** The longest block at each look at the clock, in milliseconds, so that the user acts at a random point. */
const mostStillMs = 12;
const lateAttempts = new Set<string>();

const mortal = (network: Network): Network => ({
  ...network,
  async upload(connection, step) {
    const texts = textsOf(step);
    const die = findDeath(folder, 'killed in mid-upload', network.id, texts);
    // With its getters, and enumerable: an adapter may copy it.
    const named: Connection = Object.defineProperties({} as Connection, {
      ...Object.getOwnPropertyDescriptors(connection),
      http: { value: withHeaders(connection.http, uploadHeaders(texts)), enumerable: true },
    });
    const files = await network.upload(named, die ? dyingIn(step, die) : step);
    passMark(folder, 'killed before the intent', network.id, texts);
    return files;
  },
  async send(connection, step, files) {
    const texts = textsOf(step);
    passMark(folder, 'killed after the intent', network.id, texts);
    passMark(folder, 'suspended before the send', network.id, texts);
    const death = findDeath(folder, 'killed in a late record', network.id, texts);
    if (death) {
      deathsInRecord.set(attemptOf(activityInfo()), { die: death, isSent: false });
    }

    const sent = await network.send(connection, step, files);
    passRecord('sent');
    passMark(folder, 'killed before the record', network.id, texts);
    return sent;
  },
});

/** An attempt that has sent uses the database to record it: it dies there. */
function passRecord(what: 'sent' | 'asks the database'): void {
  const activity = deathsInRecord.size > 0 ? currentActivity() : undefined;
  const death = activity && deathsInRecord.get(attemptOf(activity));
  if (death && what === 'sent') {
    death.isSent = true;
  } else if (death?.isSent) {
    death.die();
  }
}

const withHeaders = (egress: Egress, headers: Readonly<Record<string, string>>): Egress => ({
  request: (request) => egress.request({ ...request, headers: { ...request.headers, ...headers } }),
  close: () => egress.close(),
});

const named = (egress: Egress): Egress => withHeaders(egress, { [workerHeader]: name });

const attemptOf = ({ activityId, attempt, workflowExecution }: Info): string =>
  `${workflowExecution?.workflowId} ${activityId} ${attempt}`;

/** The current activity, if any. */
function currentActivity(): Info | undefined {
  try {
    return activityInfo();
  } catch {
    return undefined;
  }
}

/** An attempt reads the clock before it begins, and again when it is late. */
function now(deps: ActivityDeps): Date {
  const at = deps.now();
  const activity = currentActivity();
  if (activity?.activityType !== 'publishChannel') {
    return at;
  }

  const current = attemptOf(activity);
  const workflowId = activity.workflowExecution?.workflowId ?? '';
  if (!lateAttempts.has(current) && tellAim(folder, workflowId.replace('post-', ''))) {
    lateAttempts.add(current);
  }
  if (!lateAttempts.has(current)) {
    return at;
  }

  standStill(Math.random() * mostStillMs);
  return new Date(at.getTime() + lateByMs);
}

/** Each account has a sandbox of its own, but the product has one setting for all. */
const atOwnSandbox = (entry: OauthEntry): OauthEntry => ({
  ...entry,
  load: async () => {
    const oauth = await entry.load();
    return {
      ...oauth,
      refresh: (request) =>
        oauth.refresh({ ...request, sandboxUrl: new URL(request.baseUrl).origin }),
    };
  },
});

const adapt = (deps: ActivityDeps): ActivityDeps => ({
  ...deps,
  now: () => now(deps),
  egress: named(deps.egress),
  webhooks: named(deps.webhooks),
  networks: Object.fromEntries(
    Object.entries(deps.networks).map(([id, network]) => [id, mortal(network)]),
  ),
  oauth: Object.fromEntries(
    Object.entries(deps.oauth).flatMap(([id, entry]) => (entry ? [[id, atOwnSandbox(entry)]] : [])),
  ),
  get orm() {
    passRecord('asks the database');
    return deps.orm;
  },
  // `publicUrl` is read between the statement that reads a post's end and the one that writes it.
  get publicUrl() {
    const activity = currentActivity();
    if (activity?.activityType === 'finalizePost') {
      fallIntoTrap(folder, 'killed in finalize');
      terminateInTrap(
        folder,
        'terminated in finalize',
        activity.workflowExecution?.workflowId ?? '',
      );
    }

    return deps.publicUrl;
  },
});

await runWorker(adapt);
process.exit(0);
