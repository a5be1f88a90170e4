import { isFinal, isOut, type Bounds, type State, type Step, type Workflow } from './state.ts';
import { startAttempt } from './attempt-steps.ts';

/** Syncs of the post, and the next steps of its workflow (temporal/, workflows/, the sweep). */
export function* workflowSteps(state: State, bounds: Bounds): Generator<Step> {
  if (state.synced < state.revision) {
    yield { name: 'sync', to: tell(state, bounds), isCalm: true };
  }

  const { workflow } = state;
  if (workflow === null) {
    const healed = sweep(state, bounds);
    if (healed) {
      yield { name: 'the sweep repairs the post', to: healed, isCalm: true };
    }

    return;
  }

  if (workflow.claimed === null) {
    const to = workflow.canceled ? { ...state, workflow: null } : claim(state, bounds, workflow);
    if (to) {
      yield { name: 'claim', to, isCalm: true };
    }
  } else if (state.attempts[0] === null && !workflow.isDone) {
    const to = workflow.isStopped
      ? { ...state, workflow: { ...workflow, isDone: true } }
      : startAttempt(state, bounds);
    yield { name: 'attempt starts', to, isCalm: true };
  } else if (workflow.isDone) {
    yield { name: 'finalize', to: finalize(state, bounds, workflow), isCalm: true };
  }
}

function tell(state: State, bounds: Bounds): State {
  const { status, revision, workflow } = state;
  const synced = { ...state, synced: revision };
  const isWanted = status === 'scheduled' || status === 'publishing';
  if (workflow === null) {
    const isStarted = isWanted || isUnfinished(state, bounds);
    return isStarted ? { ...synced, workflow: begunBy(revision) } : synced;
  }

  const isNews = revision > workflow.heard && (isWanted || status === 'draft');
  return isNews
    ? {
        ...synced,
        workflow: {
          ...workflow,
          heard: revision,
          // A sleeping workflow claims at once when a cancelled send has to be finished.
          canceled:
            status === 'draft' && (workflow.claimed !== null || !isUnfinished(state, bounds)),
          isStopped: workflow.claimed !== null,
        },
      }
    : synced;
}

const begunBy = (revision: number): Workflow => ({
  heard: revision,
  canceled: false,
  claimed: null,
  isStopped: false,
  isDone: false,
});

/** The post was cancelled while its channel was being sent, and its workflow has to finish the send. */
const isUnfinished = ({ status, channel }: State, { faults }: Bounds): boolean =>
  status === 'draft' &&
  (channel === 'publishing' || channel === 'retrying') &&
  !faults.includes('leaves a cancelled send');

/** Finds a post without a workflow and puts it back into the outbox. */
function sweep(state: State, bounds: Bounds): State | null {
  const isLost =
    state.status === 'scheduled' || state.status === 'publishing' || isUnfinished(state, bounds);
  return isLost && state.synced === state.revision
    ? { ...state, synced: state.revision - 1 }
    : null;
}

function claim(state: State, bounds: Bounds, workflow: Workflow): State | null {
  const { status, revision, isDue } = state;
  const claimed: Workflow = { ...workflow, heard: revision, claimed: revision };
  if (status === 'publishing' || isUnfinished(state, bounds)) {
    return { ...state, workflow: claimed };
  }

  if (status === 'scheduled') {
    return isDue ? { ...state, status: 'publishing', workflow: claimed } : null; // The workflow keeps sleeping.
  }

  return { ...state, workflow: null };
}

function finalize(state: State, bounds: Bounds, workflow: Workflow): State {
  const ended = endPost(state, workflow);
  const isLast = workflow.canceled || workflow.heard === (workflow.claimed ?? 0);
  const isAgain = !isLast || (ended.status === 'draft' && isUnfinished(ended, bounds));
  const again: Workflow = {
    ...workflow,
    canceled: false,
    claimed: null,
    isStopped: false,
    isDone: false,
  };
  return { ...ended, workflow: isAgain ? again : null };
}

function endPost(
  state: State,
  { heard, claimed, isStopped, canceled: isCancelled }: Workflow,
): State {
  const { status, revision, run, events } = state;
  const canceled = isStopped && isCancelled;
  const hasMovedOn =
    (status === 'scheduled' && (!canceled || revision > heard)) ||
    (status === 'publishing' && revision > (canceled ? heard : (claimed ?? heard)));
  if (hasMovedOn) {
    const isOpen = ['publishing', 'retrying'].includes(state.channel);
    return status === 'scheduled' && isOpen ? { ...state, channel: 'scheduled' } : state;
  }

  if (status === 'published' || status === 'failed') {
    return state;
  }

  const ended = endChannel(state, canceled || status === 'draft');
  if (!isFinal(ended.channel)) {
    return { ...ended, status: 'draft', isDue: false };
  }

  return {
    ...ended,
    status: ended.channel === 'published' ? 'published' : 'failed',
    events: events.includes(run) ? events : [...events, run],
  };
}

/** A channel that is still open was stopped. A cancel lets parts finish that are live or may be. */
function endChannel(state: State, isCancelled: boolean): State {
  const { channel, status } = state;
  if (!['scheduled', 'publishing', 'retrying'].includes(channel)) {
    return state;
  }

  const isInDoubt = state.ledger.some((row) => row.state === 'sending');
  const isSomeOut = state.ledger.some(isOut);
  const goesOn = channel === 'retrying' && status !== 'draft' ? isInDoubt : isSomeOut;
  if (isCancelled && channel !== 'scheduled' && goesOn) {
    return { ...state, channel: 'retrying' };
  }

  return { ...state, channel: isInDoubt ? 'unconfirmed' : isCancelled ? 'draft' : 'failed' };
}
