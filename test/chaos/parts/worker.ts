import { activityInfo, type Info } from '@temporalio/activity';
import type { ActivityDeps } from '../../../activities/deps.ts';
import type { Connection, Network, Step } from '../../../networks/network.ts';
import type { OauthEntry } from '../../../networks/oauth.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { runWorker } from '../../../worker/run-worker.ts';
import { dyingIn } from './dying-upload.ts';
import {
  fallIntoTrap,
  findDeath,
  passMark,
  standStill,
  tellAim,
  terminateInTrap,
} from './traps.ts';
import { uploadHeaders, workerHeader } from '../networks/network-line.ts';

// A worker as operators start it, but for this: it kills or stops itself at the points where the run wants it to, and
// says its own name to the networks, so that the line before them knows whom to kill.

const folder = process.env['CHAOS_FOLDER'] ?? '';
const name = process.env['CHAOS_NAME'] ?? '';

const textsOf = ({ parts }: Step): string[] => parts.map(({ text }) => text);

/** What kills this process when these tries write down what came of them. */
const deathsInRecord = new Map<
  string,
  { readonly die: () => void; isSent: boolean; asked: number }
>();

/** A try that was aimed at takes itself for so late, in milliseconds: more than a minute. */
const lateByMs = 61_000;
/** It stands still for so long at most whenever it looks at the clock, so that it meets its user anywhere. */
const mostStillMs = 12;
const lateTries = new Set<string>();

const mortal = (network: Network): Network => ({
  ...network,
  async upload(connection, step) {
    const texts = textsOf(step);
    const die = findDeath(folder, 'killed in mid-upload', network.id, texts);
    const named = Object.assign(Object.create(connection) as Connection, {
      http: withHeaders(connection.http, uploadHeaders(texts)),
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
      deathsInRecord.set(tryOf(activityInfo()), { die: death, isSent: false, asked: 0 });
    }

    const sent = await network.send(connection, step, files);
    passRecord('sent');
    passMark(folder, 'killed before the record', network.id, texts);
    return sent;
  },
});

/**
 * A try that has sent turns to the database to write that down, and once more when its post was cancelled meanwhile: it
 * dies at the second time.
 */
function passRecord(what: 'sent' | 'asks the database'): void {
  const activity = deathsInRecord.size > 0 ? currentActivity() : undefined;
  const death = activity && deathsInRecord.get(tryOf(activity));
  if (death && what === 'sent') {
    death.isSent = true;
  } else if (death?.isSent) {
    death.asked += 1;
    if (death.asked === 2) {
      death.die();
    }
  }
}

const withHeaders = (egress: Egress, headers: Readonly<Record<string, string>>): Egress => ({
  request: (request) => egress.request({ ...request, headers: { ...request.headers, ...headers } }),
  close: () => egress.close(),
});

const named = (egress: Egress): Egress => withHeaders(egress, { [workerHeader]: name });

const tryOf = ({ activityId, attempt, workflowExecution }: Info): string =>
  `${workflowExecution?.workflowId} ${activityId} ${attempt}`;

/** The activity that this belongs to, if any. */
function currentActivity(): Info | undefined {
  try {
    return activityInfo();
  } catch {
    return undefined;
  }
}

/** A try reads the clock before it begins, and again when it has found that it is late. */
function now(deps: ActivityDeps): Date {
  const at = deps.now();
  const activity = currentActivity();
  if (activity?.activityType !== 'publishChannel') {
    return at;
  }

  const current = tryOf(activity);
  const workflowId = activity.workflowExecution?.workflowId ?? '';
  if (!lateTries.has(current) && tellAim(folder, workflowId.replace('post-', ''))) {
    lateTries.add(current);
  }
  if (!lateTries.has(current)) {
    return at;
  }

  standStill(Math.random() * mostStillMs);
  return new Date(at.getTime() + lateByMs);
}

/** Each account is of a sandbox of its own, and the product knows of one. */
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
  // Read between the statement that reads a post's end and the one that writes it.
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
