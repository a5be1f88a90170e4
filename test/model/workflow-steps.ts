import { isFinal, type Bounds, type State, type Step, type Workflow } from './state.ts';
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
    const to = claim(state, bounds, workflow);
    if (to) {
      yield { name: 'claim', to, isCalm: true };
    }
  } else if (state.attempts[0] === null && !workflow.isDone) {
    const to = workflow.isStopped
      ? { ...state, workflow: { ...workflow, isDone: true } }
      : startAttempt(state);
    yield { name: 'attempt starts', to, isCalm: true };
  } else if (workflow.isDone) {
    const to = workflow.isStopped ? askAgain(state, workflow) : finalize(state, workflow);
    yield { name: workflow.isStopped ? 'is interrupted' : 'finalize', to, isCalm: true };
  }
}

function tell(state: State, bounds: Bounds): State {
  const { status, revision, workflow } = state;
  const synced = { ...state, synced: revision };
  const isWanted = status === 'scheduled' || status === 'publishing';
  if (workflow === null) {
    const isStarted = isWanted || isStillSending(state, bounds);
    return isStarted
      ? { ...synced, workflow: { ...waiting(revision), isAsking: !isWanted } }
      : synced;
  }

  const isNews = revision > workflow.heard && (isWanted || status === 'draft');
  return isNews
    ? {
        ...synced,
        workflow: {
          ...workflow,
          heard: revision,
          isAsking: workflow.isAsking || status === 'draft',
          isStopped: workflow.claimed !== null,
        },
      }
    : synced;
}

const waiting = (revision: number): Workflow => ({
  heard: revision,
  isAsking: false,
  claimed: null,
  isStopped: false,
  isDone: false,
});

const askAgain = (state: State, { heard }: Workflow): State => ({
  ...state,
  workflow: { ...waiting(heard), isAsking: true },
});

/** The post was cancelled while its channel was being sent, and its workflow has to reconcile the send. */
const isStillSending = ({ status, channel }: State, { faults }: Bounds): boolean =>
  status === 'draft' &&
  (channel === 'publishing' || channel === 'retrying') &&
  !faults.includes('leaves a cancelled send');

/** Finds a post without a workflow and puts it back into the outbox. */
function sweep(state: State, bounds: Bounds): State | null {
  const isLost =
    state.status === 'scheduled' || state.status === 'publishing' || isStillSending(state, bounds);
  return isLost && state.synced === state.revision
    ? { ...state, synced: state.revision - 1 }
    : null;
}

function claim(state: State, bounds: Bounds, { isAsking }: Workflow): State | null {
  const { status, revision, isDue, channel } = state;
  const claimed: Workflow = { ...waiting(revision), claimed: revision };
  if (status === 'publishing' || isStillSending(state, bounds)) {
    return { ...state, workflow: claimed };
  }

  if (status === 'scheduled' && isDue) {
    return { ...state, status: 'publishing', workflow: claimed };
  }

  if (status !== 'scheduled') {
    return { ...state, workflow: null };
  }

  const isUnderWay = channel === 'publishing' || channel === 'retrying';
  // Not due: the workflow sleeps, and no attempt is under way.
  return isAsking
    ? { ...state, channel: isUnderWay ? 'scheduled' : channel, workflow: waiting(revision) }
    : null;
}

function finalize(state: State, workflow: Workflow): State {
  const ended = endPost(state, workflow);
  const isOver = ended.status === 'published' || ended.status === 'failed';
  return isOver && workflow.heard === workflow.claimed
    ? { ...ended, workflow: null }
    : askAgain(ended, workflow);
}

/** Ends a post that is being published, unless it was retried since the claim. */
function endPost(state: State, { claimed }: Workflow): State {
  const { status, revision, run, events } = state;
  if (status !== 'publishing' || revision > (claimed ?? 0)) {
    return state;
  }

  const isInDoubt = state.ledger.some((row) => row.state === 'sending');
  const channel = isFinal(state.channel) ? state.channel : isInDoubt ? 'unconfirmed' : 'failed';
  return {
    ...state,
    channel,
    status: channel === 'published' ? 'published' : 'failed',
    events: events.includes(run) ? events : [...events, run],
  };
}
