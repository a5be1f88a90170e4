import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { AppError } from '../domain/errors.ts';
import { connectTemporal } from '../temporal/connect.ts';
import { bundleWorkflows } from '../worker/bundle-workflows.ts';
import { replayHistory, type Replayed } from '../worker/replay-history.ts';
import type { CommandAnswer } from './command.ts';
import { checkHistory, fetchHistory, readHistoryFile } from './read-history.ts';
import { UsageError } from './usage-error.ts';
import { whatCodeDoes, whatHistoryHas } from './tell-divergence.ts';

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
  if (replayed.kind === 'fails' && replayed.said.includes('no such function is exported')) {
    throw new AppError(
      'invalid_request',
      `${source} is the history of a workflow "${type}", and this version of Punctual has none of that name.`,
    );
  }

  return answer({ workflowId, type, history }, replayed);
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

function answer({ workflowId, type, history }: Subject, replayed: Replayed): CommandAnswer {
  const events = history.events ?? [];
  const known = { workflow_id: workflowId, workflow_type: type, events: events.length };
  const all = `all ${events.length} events of ${workflowId} (${type})`;
  if (replayed.kind === 'replays') {
    return {
      text: `It replays: ${all} fit the workflow code.`,
      data: { ...known, replays: true, divergence: null },
    };
  }

  const { eventId, said, kind } = replayed;
  const event = events[eventId - 1] ?? {};
  const [has, does] = [whatHistoryHas(event), whatCodeDoes(said)];
  const heading =
    kind === 'diverges'
      ? `It does not replay: at event ${eventId} the workflow code does something else than ${workflowId} (${type}) did.`
      : `It does not replay: at event ${eventId} of ${workflowId} (${type}) the workflow code breaks off.`;
  return {
    text: `${heading}\n  The history has: ${has}\n  The code:        ${does}\n  Temporal says:   ${said}\n${advice}`,
    data: {
      ...known,
      replays: false,
      divergence: { event_id: eventId, history_has: has, code_does: does, temporal_says: said },
    },
    failed: true,
  };
}

const advice =
  'Under this code the workflow would stand still. Run the version that it began under, or keep what that did for\nold workflows (patched), and replay again. Standing still loses nothing: it goes on as soon as the code fits.';
