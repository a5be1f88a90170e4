import { readFile } from 'node:fs/promises';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
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
  const subject = { workflowId: started?.workflowId || source, type, history };
  return present(subject, await replayHistory(subject));
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
      const message = `There is no workflow "${workflowId}" in the namespace "${namespace}" of TEMPORAL_NAMESPACE: ${grpcErrorIn(error)?.details}. The ids are post-<post id> and delivery-<delivery id>; Temporal deletes a workflow some time after its end.`;
      throw new AppError('not_found', message);
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

type Subject = { readonly workflowId: string; readonly type: string; readonly history: History };

/** @returns why the workflow code does not match the history, in Temporal's words; null when it does. */
async function replayHistory({ workflowId, history }: Subject): Promise<string | null> {
  // Without a completed workflow task there is nothing to replay, and Temporal's runtime would never end.
  if (!history.events?.some((event) => event.workflowTaskCompletedEventAttributes)) {
    return null;
  }

  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined), // `present` reports the result.
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
    shutdownSignals: [],
  });
  const workflowBundle = await bundleWorkflows();
  const all = [{ workflowId, history }];
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, all)) {
    return error ? (quoted.exec(error.message)?.groups?.['message'] ?? error.message) : null;
  }

  throw new Error('Temporal replayed nothing.');
}

/** Temporal's error contains the message in a debug dump. */
const quoted = /message: "(?<message>(?:[^"\\]|\\.)*)"/v;

function present({ workflowId, type, history }: Subject, divergence: string | null): Answer {
  const events = history.events?.length ?? 0;
  const name = `${workflowId} (${type})`;
  return {
    text:
      divergence === null
        ? `It replays: all ${events} events of ${name} match the workflow code.`
        : `It does not replay: the workflow code does not match the history of ${name}.\n  Temporal says: ${divergence}\n${advice}`,
    data: {
      workflow_id: workflowId,
      workflow_type: type,
      events,
      replays: divergence === null,
      divergence,
    },
    failed: divergence !== null,
  };
}

const advice =
  'With this code the workflow would be stuck. Run the version that it began under, or keep its behaviour for\nold workflows (patched), and replay again. Nothing is lost: it continues as soon as the code matches.';
