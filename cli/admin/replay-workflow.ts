import { readFile } from 'node:fs/promises';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import {
  DefaultLogger,
  Runtime,
  Worker,
  type ReplayResult,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import {
  connectTemporal,
  grpcErrorIn,
  hasGrpcCode,
  type Temporal,
} from '../../temporal/connect.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import type { Answer } from '../command.ts';
import { UsageError } from '../failures.ts';

/**
 * Replays a workflow's history against the workflow code of this checkout, to check whether a sleeping workflow can
 * continue with it. Changes nothing in Temporal or the database.
 */
export async function replayWorkflow(source: string): Promise<Answer> {
  if (source.trim() === '') {
    throw new UsageError('A workflow id or a file whose name ends in .json is missing.');
  }

  const history = source.endsWith('.json') ? await readHistory(source) : await fetched(source);
  assertComplete(history, source);
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const type = started?.workflowType?.name ?? '';
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined), // The result is reported below.
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
    shutdownSignals: [],
  });
  const bundle = await bundleWorkflows();
  const workflowId = started?.workflowId || source;
  const failure = await replayHistory(bundle, history, workflowId);
  if (failure?.message.includes('no such function is exported')) {
    throw new AppError(
      'invalid_request',
      `${source} is the history of a workflow "${type}", which this version of Punctual does not have.`,
    );
  }

  return present({ workflowId, type, history }, failure);
}

async function fetched(workflowId: string): Promise<History> {
  const temporal = connectTemporal();
  try {
    return await fetchHistory(temporal, workflowId);
  } finally {
    await temporal.close();
  }
}

/** A history may be several megabytes, in pages. In milliseconds. */
const deadlineMs = 15_000;

/** The history of a workflow's latest run. @throws AppError `not_found` */
export async function fetchHistory(
  { client, namespace }: Pick<Temporal, 'client' | 'namespace'>,
  workflowId: string,
): Promise<History> {
  try {
    return await client.withDeadline(Date.now() + deadlineMs, () =>
      client.workflow.getHandle(workflowId).fetchHistory(),
    );
  } catch (error) {
    if (hasGrpcCode(error, 'notFound')) {
      // Temporal uses one code for a missing namespace and a missing workflow.
      throw new AppError(
        'not_found',
        `There is no workflow "${workflowId}" in the namespace "${namespace}" of TEMPORAL_NAMESPACE: ${grpcErrorIn(error)?.details}. The ids are post-<post id> and delivery-<delivery id>; Temporal deletes a workflow some time after its end.`,
      );
    }

    throw error;
  }
}

/** Reads a file that Temporal's CLI or Web UI wrote. @throws AppError `invalid_request` */
async function readHistory(file: string): Promise<History> {
  try {
    const parsed = JSON.parse(await readFile(file, 'utf8'));
    return historyFromJSON({ events: Array.isArray(parsed) ? parsed : parsed?.events });
  } catch (error) {
    throw invalid(file, `holds no history: ${describeError(error).message.slice(0, 200)}`);
  }
}

/** A gap would end the process: the native part of the SDK aborts. @throws AppError `invalid_request` */
function assertComplete({ events }: History, source: string): void {
  if (!events?.[0]?.workflowExecutionStartedEventAttributes) {
    throw invalid(source, 'does not begin with the start of a workflow');
  }

  const wrong = events.findIndex(
    ({ eventId, eventType }, index) => Number(eventId) !== index + 1 || !eventType,
  );
  if (wrong !== -1) {
    throw invalid(source, `lacks event ${wrong + 1}, or its type is unknown to this SDK`);
  }
}

const invalid = (source: string, what: string): AppError =>
  new AppError(
    'invalid_request',
    `${source} ${what}. "temporal workflow show --workflow-id ID --output json" writes a history, and so does the Web UI's Download.`,
  );

/** Why a history does not replay: the code emits other commands (`diverges`), or throws. */
type Failure = {
  readonly diverges: boolean;
  readonly eventId: number;
  readonly message: string;
};

/**
 * Replays a history under a bundle's workflow code, and finds the first event that diverges. Temporal does not always
 * name it, but the replay fails as soon as the history contains it, so a binary search finds it.
 *
 * @param history Events must be numbered from 1 without a gap.
 */
async function replayHistory(
  workflowBundle: WorkflowBundleWithSourceMap,
  history: History,
  workflowId: string,
): Promise<Failure | undefined> {
  const events = history.events ?? [];
  const attempt = async (count: number): Promise<Failure | undefined> => {
    const part = [{ workflowId, history: { events: events.slice(0, count) } }];
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, part)) {
      return error && failureOf(error, count);
    }

    throw new Error('Temporal replayed nothing.');
  };
  // A history without a completed workflow task cannot be replayed: Temporal would wait for more events.
  let good = events.findIndex((event) => event.workflowTaskCompletedEventAttributes) + 1;
  let failure = good === 0 ? undefined : await attempt(events.length);
  while (failure && failure.eventId - good > 1) {
    const middle = Math.floor((good + failure.eventId) / 2);
    const earlier = await attempt(middle);
    failure = earlier ?? failure;
    good = earlier ? good : middle;
  }

  return failure;
}

/** Temporal's error contains the message in a debug dump. */
const quoted = /message: "(?<message>(?:[^"\\]|\\.)*)"/v;

const failureOf = (error: NonNullable<ReplayResult['error']>, eventId: number): Failure => ({
  diverges: error instanceof DeterminismViolationError,
  eventId,
  message: quoted.exec(error.message)?.groups?.['message'] ?? error.message,
});

type Subject = { readonly workflowId: string; readonly type: string; readonly history: History };

function present({ workflowId, type, history }: Subject, failure: Failure | undefined): Answer {
  const events = history.events ?? [];
  const known = { workflow_id: workflowId, workflow_type: type, events: events.length };
  if (!failure) {
    return {
      text: `It replays: all ${events.length} events of ${workflowId} (${type}) match the workflow code.`,
      data: { ...known, replays: true, divergence: null },
    };
  }

  const { eventId, message, diverges } = failure;
  const has = eventName(events[eventId - 1] ?? {});
  const what = diverges ? 'diverges from the history' : 'fails';
  return {
    text: `It does not replay: at event ${eventId} of ${workflowId} (${type}) the workflow code ${what}.\n  The history has: ${has}\n  Temporal says:   ${message}\n${advice}`,
    data: {
      ...known,
      replays: false,
      divergence: { event_id: eventId, history_has: has, temporal_says: message },
    },
    failed: true,
  };
}

const advice =
  'With this code the workflow would be stuck. Run the version that it began under, or keep its behaviour for\nold workflows (patched), and replay again. Nothing is lost: it continues as soon as the code matches.';

/** An event in the terms of Temporal's Web UI, such as `activity task scheduled`. */
const eventName = (event: NonNullable<History['events']>[number]): string =>
  (
    Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value)?.[0] ??
    ''
  )
    .replace(/EventAttributes$/v, '')
    .replaceAll(/[A-Z]/gv, ' $&')
    .toLowerCase();
