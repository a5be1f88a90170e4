import { ownerSteps } from './owner-steps.ts';
import { isFinal, startOf, type Bounds, type Row, type State, type Step } from './state.ts';
import { trySteps } from './try-steps.ts';
import { breakdowns, networkSteps, timeSteps } from './world-steps.ts';
import { workflowSteps } from './workflow-steps.ts';

/** All that may happen next, one statement or request at a time. */
function* nextSteps(state: State, bounds: Bounds): Generator<Step> {
  yield* ownerSteps(state, bounds);
  yield* withEnds(state, workflowSteps(state, bounds));
  yield* trySteps(state, bounds, 0);
  yield* trySteps(state, bounds, 1);
  yield* timeSteps(state);
  yield* networkSteps(state, bounds);
  yield* withEnds(state, breakdowns(state, bounds));
}

/** Temporal remembers that a workflow ended since the backup. */
function* withEnds(state: State, steps: Iterable<Step>): Generator<Step> {
  for (const step of steps) {
    const hasEnded =
      step.to.backup !== null && state.workflow !== null && step.to.workflow === null;
    yield hasEnded ? { ...step, to: { ...step.to, hasEndedSince: true } } : step;
  }
}

/** What must hold at all times. @returns what is wrong, if anything is. */
export function faultOf(state: State, { parts }: Bounds): string | null {
  const { wrong, events, live, channel } = state;
  if (wrong ?? new Set(events).size < events.length) {
    return wrong ?? 'a run has two events';
  }

  const isHidden =
    isAtRest(state) && live.length === parts && (channel === 'draft' || channel === 'failed');
  return isHidden ? `all of it is live, and the channel says ${channel}` : null;
}

/** Whether nothing is left to do but by a person, and all of it is said. */
export function isAtRest(state: State): boolean {
  const { status, channel, workflow, tries, run, events, isRestored } = state;
  if (workflow || tries[0] || tries[1]) {
    return false;
  }

  return status === 'draft'
    ? channel === 'draft' || channel === 'failed' || (isRestored && isFinal(channel))
    : (status === 'published' || status === 'failed') &&
        isFinal(channel) &&
        // What a restore made unconfirmed waits for a person, and no event says so.
        (events.includes(run) || (isRestored && channel === 'unconfirmed'));
}

/** The same for states that differ only in how high counters are. */
function keyOf(state: State): string {
  const { revision, synced, workflow, ledger, tries } = state;
  const rank = new Map<number, number>([[0, 0]]);
  const sends = [ledger, ...tries.map((attempt) => attempt?.view ?? [])]
    .flat()
    .map(({ send }) => send);
  for (const send of sends.toSorted((a, b) => a - b)) {
    rank.set(send, rank.get(send) ?? rank.size);
  }

  const rows = (view: readonly Row[]): unknown[] =>
    view.map((row) => [row.run, row.part, row.text, row.state, rank.get(row.send), row.mayLand]);
  return JSON.stringify({
    ...state,
    sends: 0,
    revision: 0,
    synced: synced < revision,
    workflow: workflow && {
      ...workflow,
      heard: workflow.heard - revision,
      claimed: workflow.claimed === null ? null : workflow.claimed - revision,
    },
    ledger: rows(ledger),
    tries: tries.map((attempt) => attempt && [attempt, rows(attempt.view)]),
    ...(state.backup && { revision, synced }),
  });
}

export type Explored = {
  readonly states: number;
  /** The first thing that is wrong, and the shortest way to it; null when nothing is. */
  readonly found: { readonly fault: string; readonly steps: readonly string[] } | null;
};

type Node = { readonly state: State; readonly parent: number; readonly name: string };

/**
 * Goes through all that can happen within the bounds, breadth first, and looks at each state. After that it asks of each
 * whether the post comes to rest from there when nobody does anything and nothing breaks.
 */
export function explore(bounds: Bounds): Explored {
  const nodes: Node[] = [{ state: startOf(bounds), parent: -1, name: 'the post is scheduled' }];
  const indexes = new Map<string, number>([[keyOf(startOf(bounds)), 0]]);
  /** From where a calm step leads to a state. */
  const calmFrom: number[][] = [[]];
  for (let index = 0; index < nodes.length; index += 1) {
    const { state } = nodes[index] as Node;
    const fault = faultOf(state, bounds);
    if (fault) {
      return { states: nodes.length, found: { fault, steps: wayTo(nodes, index) } };
    }

    for (const { name, to, isCalm } of nextSteps(state, bounds)) {
      const key = keyOf(to);
      let next = indexes.get(key);
      if (next === undefined) {
        next = nodes.push({ state: to, parent: index, name }) - 1;
        indexes.set(key, next);
        calmFrom.push([]);
      }

      if (isCalm) {
        calmFrom[next]?.push(index);
      }
    }
  }

  const stuck = firstStuck(nodes, calmFrom);
  return {
    states: nodes.length,
    found:
      stuck === null
        ? null
        : {
            fault: `never comes to rest: ${JSON.stringify(nodes[stuck]?.state)}`,
            steps: wayTo(nodes, stuck),
          },
  };
}

/** Backwards from all states of rest, along calm steps. */
function firstStuck(nodes: readonly Node[], calmFrom: readonly number[][]): number | null {
  const rests = new Uint8Array(nodes.length);
  const todo = nodes.flatMap(({ state }, index) => (isAtRest(state) ? [index] : []));
  for (const index of todo) {
    rests[index] = 1;
  }

  while (todo.length > 0) {
    for (const from of calmFrom[todo.pop() as number] ?? []) {
      if (rests[from] === 0) {
        rests[from] = 1;
        todo.push(from);
      }
    }
  }

  const stuck = rests.indexOf(0);
  return stuck < 0 ? null : stuck;
}

function wayTo(nodes: readonly Node[], index: number): string[] {
  const names: string[] = [];
  for (let at = index; at >= 0; at = (nodes[at] as Node).parent) {
    names.unshift((nodes[at] as Node).name);
  }

  return names;
}
