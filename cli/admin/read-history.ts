import { readFile } from 'node:fs/promises';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import {
  grpcErrorIn,
  hasGrpcCode,
  isTemporalUnavailable,
  type Temporal,
} from '../../temporal/connect.ts';

/** A history may be several megabytes, in pages. In milliseconds. */
const deadlineMs = 15_000;

/**
 * Fetches the history of a workflow's latest run.
 *
 * @throws AppError `not_found`, or `unavailable` when Temporal does not answer.
 */
export async function fetchHistory(
  { client, connection, namespace }: Temporal,
  workflowId: string,
): Promise<History> {
  try {
    return await client.withDeadline(Date.now() + deadlineMs, () =>
      client.workflow.getHandle(workflowId).fetchHistory(),
    );
  } catch (error) {
    if (hasGrpcCode(error, 'notFound')) {
      const details = grpcErrorIn(error)?.details ?? '';
      throw new AppError('not_found', notFoundMessage(details, { workflowId, namespace }));
    }

    if (isTemporalUnavailable(error)) {
      throw new AppError(
        'unavailable',
        `Temporal cannot be reached: nothing answers at ${connection.options.address}, which is TEMPORAL_ADDRESS.`,
      );
    }

    throw error;
  }
}

/** Temporal uses one code for a missing namespace and a missing workflow. */
const notFoundMessage = (
  details: string,
  { workflowId, namespace }: { workflowId: string; namespace: string },
): string =>
  /^namespace/iv.test(details)
    ? `Temporal has no namespace "${namespace}". TEMPORAL_NAMESPACE sets the one that Punctual uses.`
    : `Temporal has no workflow "${workflowId}" in the namespace "${namespace}". The ids are post-<post id> and delivery-<delivery id>; Temporal deletes a workflow some time after its end.`;

/**
 * Reads a history file that Temporal's CLI or Web UI wrote.
 *
 * @throws AppError `invalid_request` that describes the fault of the file.
 */
export async function readHistoryFile(file: string): Promise<History> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code } = describeError(error);
    throw invalid(file, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  });
  const parsed = parseJson(text, file);
  const events = Array.isArray(parsed) ? parsed : parsed?.['events'];
  if (!Array.isArray(events) || events.length === 0) {
    throw invalid(file, 'holds no history: it has no list of events');
  }

  const history = readEvents(events, file);
  const unknown = history.events?.findIndex(({ eventType }) => !eventType) ?? -1;
  if (unknown !== -1) {
    const type = JSON.stringify((events[unknown] as Partial<Record<string, unknown>>)['eventType']);
    throw invalid(
      file,
      `has an event ${unknown + 1} of a type that this SDK does not support: ${type}`,
    );
  }

  return history;
}

function readEvents(events: unknown[], file: string): History {
  try {
    return historyFromJSON({ events });
  } catch (error) {
    throw invalid(file, `holds no history: ${describeError(error).message.slice(0, 200)}`);
  }
}

function parseJson(text: string, file: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(file, 'is not JSON');
  }
}

/** @throws AppError `invalid_request` when the history is not complete from its beginning. */
export function checkHistory({ events }: History, source: string): void {
  if (!events?.[0]?.workflowExecutionStartedEventAttributes) {
    throw invalid(source, 'does not begin with the start of a workflow');
  }

  const gap = events.findIndex(({ eventId }, index) => Number(eventId) !== index + 1);
  if (gap !== -1) {
    throw invalid(
      source,
      `has a gap: after event ${gap} comes ${Number(events[gap]?.eventId)}. It must be complete`,
    );
  }
}

const invalid = (source: string, what: string): AppError =>
  new AppError(
    'invalid_request',
    `${source} ${what}. "temporal workflow show --workflow-id ID --output json" writes a history, and so does the Web UI's Download.`,
  );
