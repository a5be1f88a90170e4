import { hash } from 'node:crypto';
import { ownerSteps } from './owner-steps.ts';
import {
  isFinal,
  startOf,
  type Bounds,
  type Row,
  type State,
  type Step,
  type Attempt,
} from './state.ts';
import { attemptSteps } from './attempt-steps.ts';
import { breakdowns, networkSteps, timeSteps } from './world-steps.ts';
import { workflowSteps } from './workflow-steps.ts';

/** All possible next steps, each one statement or request. */
function* nextSteps(state: State, bounds: Bounds): Generator<Step> {
  yield* ownerSteps(state, bounds);
  yield* withEnds(state, workflowSteps(state, bounds));
  yield* attemptSteps(state, bounds, 0);
  yield* attemptSteps(state, bounds, 1);
  yield* timeSteps(state);
  yield* networkSteps(state, bounds);
  yield* withEnds(state, breakdowns(state, bounds));
}

/** Temporal remembers workflows that ended since the backup. */
function* withEnds(state: State, steps: Iterable<Step>): Generator<Step> {
  for (const step of steps) {
    const hasEnded =
      step.to.backup !== null && state.workflow !== null && step.to.workflow === null;
    yield hasEnded ? { ...step, to: { ...step.to, hasEndedSince: true } } : step;
  }
}

/** Checks the invariants. @returns the violation, or null. */
export function faultOf(state: State, { parts }: Bounds): string | null {
  const { wrong, events, live, channel } = state;
  if (wrong ?? new Set(events).size < events.length) {
    return wrong ?? 'a run has two events';
  }

  const isHidden =
    isAtRest(state) && live.length === parts && (channel === 'draft' || channel === 'failed');
  return isHidden ? `all of it is live, but the channel is ${channel}` : null;
}

/** Whether only a person can change the state, and its final event exists. */
export function isAtRest(state: State): boolean {
  const { status, channel, workflow, attempts, run, events, isRestored } = state;
  if (workflow || attempts[0] || attempts[1]) {
    return false;
  }

  return status === 'draft'
    ? channel === 'draft' || channel === 'failed' || (isRestored && isFinal(channel))
    : (status === 'published' || status === 'failed') &&
        isFinal(channel) &&
        // An unconfirmed channel of a restore has no event and waits for a person.
        (events.includes(run) || (isRestored && channel === 'unconfirmed'));
}

/** A key that is equal for states that differ only in their counters. */
function keyOf(state: State): string {
  const { revision, synced, workflow, ledger, attempts } = state;
  const rank = new Map<number, number>([[0, 0]]);
  const sends = [ledger, ...attempts.map((attempt) => attempt?.view ?? [])]
    .flat()
    .map(({ send }) => send);
  for (const send of sends.toSorted((a, b) => a - b)) {
    rank.set(send, rank.get(send) ?? rank.size);
  }

  const rows = (view: readonly Row[]): unknown[] =>
    view.map((row) => [row.run, row.part, row.text, row.state, rank.get(row.send), row.mayLand]);
  const text = JSON.stringify({
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
    attempts: attempts.map((attempt) => attempt && keyOfAttempt(attempt, revision, rows)),
    ...(state.backup && { revision, synced }),
  });
  return hash('sha1', text, 'base64');
}

const keyOfAttempt = (
  { view, revision: known, ...attempt }: Attempt,
  revision: number,
  rows: (view: readonly Row[]) => unknown,
): unknown => [attempt, known === revision, rows(view)];

export type Explored = {
  readonly states: number;
  /** The first violation with the shortest way to it, or null. */
  readonly found: { readonly fault: string; readonly steps: readonly string[] } | null;
};

/** Facts about the states by their numbers. The states themselves would take gigabytes. */
type Found = {
  /** The state and the step from which each state was first found. */
  readonly parents: number[];
  readonly steps: number[];
  /** The states from which a calm step leads to each. */
  readonly calmFrom: number[][];
  readonly atRest: number[];
};

/**
 * Explores all steps within the bounds, breadth first, and checks each state. Then checks that the post comes to rest
 * from each state when the owner does nothing and nothing breaks.
 */
export function explore(bounds: Bounds): Explored {
  const found: Found = { parents: [-1], steps: [0], calmFrom: [[]], atRest: [] };
  const { parents, calmFrom, atRest } = found;
  const start = startOf(bounds);
  const numbers = new Map<string, number>([[keyOf(start), 0]]);
  let [layer, first] = [[start], 0];
  while (layer.length > 0) {
    const next: State[] = [];
    for (const [offset, state] of layer.entries()) {
      const number = first + offset;
      const fault = faultOf(state, bounds);
      if (fault) {
        return {
          states: numbers.size,
          found: { fault, steps: wayTo(found, number, bounds).names },
        };
      }

      if (isAtRest(state)) {
        atRest.push(number);
      }

      let step = 0;
      for (const { to, isCalm } of nextSteps(state, bounds)) {
        const key = keyOf(to);
        const known = numbers.get(key) ?? parents.length;
        if (known === parents.length) {
          numbers.set(key, known);
          parents.push(number);
          found.steps.push(step);
          calmFrom.push([]);
          next.push(to);
        }

        if (isCalm) {
          calmFrom[known]?.push(number);
        }

        step += 1;
      }
    }

    first += layer.length;
    layer = next;
  }

  const stuck = firstStuck(found);
  if (stuck === null) {
    return { states: numbers.size, found: null };
  }

  const { names, state } = wayTo(found, stuck, bounds);
  const fault = `never comes to rest: ${JSON.stringify(state)}`;
  return { states: numbers.size, found: { fault, steps: names } };
}

/** Searches backwards from all states at rest, along calm steps. @returns a state that is not reached, or null. */
function firstStuck({ calmFrom, atRest }: Found): number | null {
  const rests = new Uint8Array(calmFrom.length);
  const todo = [...atRest];
  for (const number of todo) {
    rests[number] = 1;
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

/** Repeats the steps to a state. */
function wayTo(
  { parents, steps }: Found,
  number: number,
  bounds: Bounds,
): { readonly names: readonly string[]; readonly state: State } {
  const way: number[] = [];
  for (let at = number; at > 0; at = parents[at] as number) {
    way.unshift(steps[at] as number);
  }

  const names = ['the post is scheduled'];
  let state = startOf(bounds);
  for (const step of way) {
    const { name, to } = [...nextSteps(state, bounds)][step] as Step;
    names.push(name);
    state = to;
  }

  return { names, state };
}
