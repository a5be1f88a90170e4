import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { AppError } from '../domain/errors.ts';
import { connectTemporal } from '../temporal/connect.ts';
import { bundleWorkflows } from '../worker/bundle-workflows.ts';
import { replayHistory, type Replayed } from '../worker/replay-history.ts';
import { UsageError, type CommandAnswer } from './command.ts';
import { checkHistory, fetchHistory, readHistoryFile } from './read-history.ts';

/**
 * Replays a workflow's history against the workflow code of this checkout: whether a workflow that is asleep could go
 * on under it. Changes nothing, neither in Temporal nor in the database.
 */
export async function replayWorkflow({
  'WORKFLOW_ID|HISTORY.json': source = '',
}: Readonly<Record<string, string>>): Promise<CommandAnswer> {
  if (source.trim() === '') {
    throw new UsageError('A workflow id or a file whose name ends in .json is missing.');
  }

  const history = source.endsWith('.json') ? await readHistoryFile(source) : await fetched(source);
  checkHistory(history, source);
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const type = started?.workflowType?.name ?? '';
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined), // What it found out is said below.
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
    shutdownSignals: [],
  });
  const bundle = await bundleWorkflows();
  const workflowId = started?.workflowId || source;
  const replayed = await replayHistory(bundle, history, workflowId);
  if (replayed.kind === 'fails' && replayed.message.includes('no such function is exported')) {
    throw new AppError(
      'invalid_request',
      `${source} is the history of a workflow "${type}", and this version of Punctual has none of that name.`,
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

type Subject = { readonly workflowId: string; readonly type: string; readonly history: History };

function presentReplay({ workflowId, type, history }: Subject, replayed: Replayed): CommandAnswer {
  const events = history.events ?? [];
  const known = { workflow_id: workflowId, workflow_type: type, events: events.length };
  const all = `all ${events.length} events of ${workflowId} (${type})`;
  if (replayed.kind === 'replays') {
    return {
      text: `It replays: ${all} fit the workflow code.`,
      data: { ...known, replays: true, divergence: null },
    };
  }

  const { eventId, message, kind } = replayed;
  const event = events[eventId - 1] ?? {};
  const [has, does] = [whatHistoryHas(event), whatCodeDoes(message)];
  const heading =
    kind === 'diverges'
      ? `It does not replay: at event ${eventId} the workflow code does something else than ${workflowId} (${type}) did.`
      : `It does not replay: at event ${eventId} of ${workflowId} (${type}) the workflow code breaks off.`;
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
  'Under this code the workflow would stand still. Run the version that it began under, or keep what that did for\nold workflows (patched), and replay again. Standing still loses nothing: it goes on as soon as the code fits.';

type HistoryEvent = NonNullable<History['events']>[number];

/** An event in words, by what a person sees of it in Temporal's Web UI. */
function whatHistoryHas(event: HistoryEvent): string {
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

/** What the code does, by the names of Temporal's machines in its messages, without spaces and in lower case. */
const doings: Readonly<Record<string, string>> = {
  activity: 'begins an activity',
  cancelexternalwf: 'cancels another workflow',
  cancelworkflow: 'ends as cancelled',
  childworkflow: 'begins a child workflow',
  completeworkflow: 'ends',
  continueasnewworkflow: 'continues as new',
  failworkflow: 'fails',
  localactivity: 'takes a step of its own (a local activity)',
  modifyworkflowproperties: 'changes its memo',
  patch: 'asks patched()',
  signalexternalwf: 'signals another workflow',
  timer: 'begins to wait',
  upsertworkflowsearchattributes: 'changes its search attributes',
};

const machine = /error: (?<machine>[A-Za-z ]+?) ?[Mm]achine does not handle/v;
const otherType = /(?<what>Child workflow|[Aa]ctivity) type of .* command '(?<name>[^']*)'/v;

/** What the code does where the history has something else, as far as Temporal's words tell. */
function whatCodeDoes(said: string): string {
  const name = machine.exec(said)?.groups?.['machine'];
  if (name) {
    return `${doings[name.replaceAll(' ', '').toLowerCase()] ?? name} there`;
  }

  const other = otherType.exec(said)?.groups;
  if (other) {
    const what = other['what'] === 'Child workflow' ? 'a child workflow' : 'an activity';
    return `begins ${what} "${other['name']}" there`;
  }

  return said.includes('No command scheduled') ? 'does nothing there' : 'says no more';
}
