import {
  afterMishap,
  drop,
  type Bounds,
  type Database,
  type Row,
  type State,
  type Step,
} from './state.ts';
import { land } from './send-steps.ts';

// Steps without an actor: time passes, lost requests arrive after all, and things break.

export function* timeSteps(state: State): Generator<Step> {
  if (state.status === 'scheduled' && !state.isDue) {
    yield { name: 'the post is due', to: due(state), isCalm: true };
  }

  if (state.ledger.some(({ mayLand }) => mayLand)) {
    const [first, second] = state.attempts;
    const to: State = {
      ...state,
      ledger: state.ledger.map((row) => ({ ...row, mayLand: false })),
      requests: [],
      attempts: [
        first?.at === 'marked' ? { ...first, isStale: true } : first,
        second?.at === 'marked' ? { ...second, isStale: true } : second,
      ],
    };
    yield { name: 'a minute passes', to, isCalm: true };
  }

  const isUnderWay = state.channel === 'publishing' || state.channel === 'retrying';
  const hasDay = state.isDue || (state.status === 'draft' && isUnderWay);
  if (hasDay && !state.isOver && !state.ledger.some(({ mayLand }) => mayLand)) {
    yield { name: 'a day passes', to: { ...state, isOver: true }, isCalm: true };
  }
}

/** Time passes for the post in the backup as well. */
const due = (state: State): State => ({
  ...state,
  isDue: true,
  backup: state.backup && { ...state.backup, isDue: true },
});

export function* networkSteps(state: State, { keyed }: Bounds): Generator<Step> {
  for (const [index, request] of state.requests.entries()) {
    const requests = state.requests.toSpliced(index, 1);
    const name = `the lost request for part ${request.part} lands`;
    yield { name, to: land({ ...state, requests }, request, keyed), isCalm: false };
  }
}

export function* breakdowns(state: State, bounds: Bounds): Generator<Step> {
  const { attempts, workflow, backup } = state;
  const crashed = attempts[0] && afterMishap(state, bounds, 'crash');
  if (crashed) {
    yield { name: 'the worker dies', to: drop(crashed, 0), isCalm: false };
  }

  const hung = attempts[0] && !attempts[1] && afterMishap(state, bounds, 'hang');
  if (hung) {
    const to: State = { ...hung, attempts: [null, attempts[0]] };
    yield { name: 'the worker hangs', to, isCalm: false };
  }

  const terminated = workflow && afterMishap(state, bounds, 'termination');
  if (terminated) {
    // Its activity still runs, but reports to no workflow.
    const to: State = {
      ...terminated,
      workflow: null,
      attempts: [null, attempts[1] ?? attempts[0]],
    };
    yield { name: 'the workflow is terminated', to, isCalm: false };
  }

  if (!backup && bounds.mishaps.includes('restore')) {
    yield { name: 'a backup is made', to: { ...state, backup: databaseOf(state) }, isCalm: false };
  }

  const lost = backup && afterMishap(state, bounds, 'restore');
  if (backup && lost) {
    const to = restore({ ...lost, ...backup }, state, bounds);
    yield { name: 'the database is restored', to, isCalm: false };
  }
}

/** A restore with everything stopped for some time, followed by `restore finish`. */
function restore(restored: State, { revision }: State, { faults }: Bounds): State {
  const stopped: State = {
    ...restored,
    isDue: restored.status === 'draft' ? false : restored.isDue,
    backup: null,
    isRestored: true,
    attempts: [null, null],
    requests: [],
    ledger: restored.ledger.map((row) => ({ ...row, mayLand: false })),
  };
  if (faults.includes('skips restore finish')) {
    return stopped;
  }

  const { status, channel, hasEndedSince, workflow } = stopped;
  const isWanted = status === 'scheduled' || status === 'publishing';
  const hasBegun = hasEndedSince || (workflow && (workflow.claimed !== null || workflow.isAsking));
  if ((hasBegun || (isWanted && stopped.isDue)) && channel !== 'published') {
    return { ...inDoubt(stopped), status: 'failed' };
  }

  const isBeingSent = channel === 'publishing' || channel === 'retrying';
  const doubted = isBeingSent ? inDoubt(stopped) : stopped;
  const higher = Math.max(revision, doubted.revision) + 1;
  return isWanted
    ? { ...doubted, revision: higher }
    : { ...doubted, revision: higher, synced: higher };
}

/** A restored database cannot know the state of the channel and of the parts in its ledger. */
const inDoubt = (state: State): State => ({
  ...state,
  channel: 'unconfirmed',
  ledger: state.ledger.map((row): Row =>
    row.state === 'sent' ? row : { ...row, state: 'sending' },
  ),
});

const databaseOf = (state: State): Database => {
  const { status, revision, synced, run, text, isDue, isOver, channel, ledger, events } = state;
  return { status, revision, synced, run, text, isDue, isOver, channel, ledger, events };
};
