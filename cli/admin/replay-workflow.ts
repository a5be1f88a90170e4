import type { History } from '@temporalio/common/lib/proto-utils.js';
import {
  DefaultLogger,
  Runtime,
  Worker,
  type ReplayResult,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { AppError } from '../../domain/errors.ts';
import { connectTemporal } from '../../temporal/connect.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import type { Answer } from '../command.ts';
import { UsageError } from '../failures.ts';
import { checkHistory, fetchHistory, readHistoryFile } from './read-history.ts';

/**
 * Replays a workflow's history against the workflow code of this checkout, to check whether a sleeping workflow can
 * continue with it. Changes nothing in Temporal or the database.
 */
export async function replayWorkflow(source: string): Promise<Answer> {
  if (source.trim() === '') {
    throw new UsageError('A workflow id or a file whose name ends in .json is missing.');
  }

  const history = source.endsWith('.json') ? await readHistoryFile(source) : await fetched(source);
  checkHistory(history, source);
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const type = started?.workflowType?.name ?? '';
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined), // The result is reported below.
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
    shutdownSignals: [],
  });
  const bundle = await bundleWorkflows();
  const workflowId = started?.workflowId || source;
  const replayed = await replayHistory(bundle, history, workflowId);
  if (replayed.kind === 'fails' && replayed.message.includes('no such function is exported')) {
    throw new AppError(
      'invalid_request',
      `${source} is the history of a workflow "${type}", which this version of Punctual does not have.`,
    );
  }

  return presentReplay({ workflowId, type, history }, replayed);
}

async function fetched(workflowId: string): Promise<History> {
  const temporal = connectTemporal();
  try {
    return await fetchHistory(temporal, workflowId);
  } finally {
    await temporal.close();
  }
}

/** Result of replaying a history under the current workflow code. */
export type Replayed =
  | { readonly kind: 'replays' }
  /** The code emits other commands than the history has. */
  | { readonly kind: 'diverges'; readonly eventId: number; readonly message: string }
  /** The code threw an error. */
  | { readonly kind: 'fails'; readonly eventId: number; readonly message: string };

type Failed = Exclude<Replayed, { kind: 'replays' }>;

/**
 * Replays a history under a bundle's workflow code, and finds the first event that diverges. Temporal does not always
 * name it, but the replay fails as soon as the history contains it, so a binary search finds it.
 *
 * @param history Events must be numbered from 1 without a gap, or the SDK's native part aborts.
 */
export async function replayHistory(
  workflowBundle: WorkflowBundleWithSourceMap,
  history: History,
  workflowId: string,
): Promise<Replayed> {
  const events = history.events ?? [];
  const attempt = async (count: number): Promise<Failed | undefined> => {
    const part = [{ workflowId, history: { events: events.slice(0, count) } }];
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, part)) {
      return error && failureOf(error, count);
    }

    throw new Error('Temporal replayed nothing.');
  };
  // A history without a completed workflow task cannot be replayed: Temporal would wait for more events.
  let good = events.findIndex((event) => event.workflowTaskCompletedEventAttributes) + 1;
  let failure = good === 0 ? undefined : await attempt(events.length);
  if (!failure) {
    return { kind: 'replays' };
  }

  while (failure.eventId - good > 1) {
    const middle = Math.floor((good + failure.eventId) / 2);
    const earlier = await attempt(middle);
    failure = earlier ?? failure;
    good = earlier ? good : middle;
  }

  return failure;
}

/** Temporal's error contains the message in a debug dump. */
const quoted = /message: "(?<message>(?:[^"\\]|\\.)*)"/v;

function failureOf(error: NonNullable<ReplayResult['error']>, eventId: number): Failed {
  const diverges = error instanceof DeterminismViolationError;
  const message = quoted.exec(error.message)?.groups?.['message'] ?? error.message;
  return { kind: diverges ? 'diverges' : 'fails', eventId, message };
}

type Subject = { readonly workflowId: string; readonly type: string; readonly history: History };

function presentReplay({ workflowId, type, history }: Subject, replayed: Replayed): Answer {
  const events = history.events ?? [];
  const known = { workflow_id: workflowId, workflow_type: type, events: events.length };
  const all = `all ${events.length} events of ${workflowId} (${type})`;
  if (replayed.kind === 'replays') {
    return {
      text: `It replays: ${all} match the workflow code.`,
      data: { ...known, replays: true, divergence: null },
    };
  }

  const { eventId, message, kind } = replayed;
  const event = events[eventId - 1] ?? {};
  const [has, does] = [describeEvent(event), describeCommand(message)];
  const heading =
    kind === 'diverges'
      ? `It does not replay: at event ${eventId} the workflow code diverges from ${workflowId} (${type}).`
      : `It does not replay: at event ${eventId} of ${workflowId} (${type}) the workflow code fails.`;
  return {
    text: `${heading}\n  The history has: ${has}\n  The code:        ${does}\n  Temporal says:   ${message}\n${advice}`,
    data: {
      ...known,
      replays: false,
      divergence: { event_id: eventId, history_has: has, code_does: does, temporal_says: message },
    },
    failed: true,
  };
}

const advice =
  'With this code the workflow would be stuck. Run the version that it began under, or keep its behaviour for\nold workflows (patched), and replay again. Nothing is lost: it continues as soon as the code matches.';

type HistoryEvent = NonNullable<History['events']>[number];

/** Describes an event in the terms of Temporal's Web UI. */
function describeEvent(event: HistoryEvent): string {
  const [kind = 'nothing', attributes] =
    Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value) ?? [];
  const name = kind
    .replace(/EventAttributes$/v, '')
    .replaceAll(/[A-Z]/gv, ' $&')
    .toLowerCase();
  const { activityType, workflowType, markerName, timerId } = (attributes ?? {}) as Attributes;
  const what = activityType?.name ?? workflowType?.name ?? markerName;
  const detail = what ?? (timerId ? `timer ${timerId}` : undefined);
  return detail ? `${name} (${detail})` : name;
}

type Attributes = {
  readonly activityType?: { readonly name?: string } | null;
  readonly workflowType?: { readonly name?: string } | null;
  readonly markerName?: string | null;
  readonly timerId?: string | null;
};

/** Descriptions by the names of Temporal's state machines in its messages, in lower case without spaces. */
const commandDescriptions: Readonly<Record<string, string>> = {
  activity: 'begins an activity',
  cancelexternalwf: 'cancels another workflow',
  cancelworkflow: 'ends as cancelled',
  childworkflow: 'begins a child workflow',
  completeworkflow: 'ends',
  continueasnewworkflow: 'continues as new',
  failworkflow: 'fails',
  localactivity: 'begins a local activity',
  modifyworkflowproperties: 'changes its memo',
  patch: 'calls patched()',
  signalexternalwf: 'signals another workflow',
  timer: 'starts a timer',
  upsertworkflowsearchattributes: 'changes its search attributes',
};

const machine = /error: (?<machine>[A-Za-z ]+?) ?[Mm]achine does not handle/v;
const otherType = /(?<what>Child workflow|[Aa]ctivity) type of .* command '(?<name>[^']*)'/v;

/** Describes the code's diverging command, as far as Temporal's message names it. */
function describeCommand(message: string): string {
  const name = machine.exec(message)?.groups?.['machine'];
  if (name) {
    return `${commandDescriptions[name.replaceAll(' ', '').toLowerCase()] ?? name} there`;
  }

  const other = otherType.exec(message)?.groups;
  if (other) {
    const what = other['what'] === 'Child workflow' ? 'a child workflow' : 'an activity';
    return `begins ${what} "${other['name']}" there`;
  }

  return message.includes('No command scheduled') ? 'does nothing there' : 'unknown';
}
