import {
  refinalizePost,
  isFinal,
  isOut,
  rowsThatCount,
  type Attempt,
  type Bounds,
  type Row,
  type State,
  type Step,
} from './state.ts';

/** The calls that the post's owner may make now, each a transaction under the post's lock (api/posts). */
export function* ownerSteps(state: State, bounds: Bounds): Generator<Step> {
  // After a restore the API starts once the workflows have reported the lost claims.
  const isClosed = state.isRestored && state.workflow !== null && state.workflow.claimed !== null;
  if (state.callsLeft === 0 || isClosed) {
    return;
  }

  const called = { ...state, callsLeft: state.callsLeft - 1 };
  for (const [name, to] of [
    ['cancel', cancel(called)],
    ['schedule', schedule(called, bounds, called.text)],
    ['edit and schedule', schedule(called, bounds, called.text + 1)],
    ['retry', retry(called)],
    ['settle', settle(called, bounds)],
  ] as const) {
    if (to) {
      yield { name, to, isCalm: false };
    }
  }
}

const isOpen = ({ state }: Row): boolean => state === 'sending';

function cancel(state: State): State | null {
  const isUnderWay = state.status === 'scheduled' || state.status === 'publishing';
  if (!isUnderWay || (state.status === 'publishing' && isFinal(state.channel))) {
    return null;
  }

  const rows = rowsThatCount(state.ledger, state.run);
  const goesOn = rows.some(isOpen) || (rows.length > 0 && rows.every(isOut));
  const channel = goesOn ? 'retrying' : rows.some(isOut) ? 'failed' : 'draft';
  const isSent = state.channel === 'publishing' || isFinal(state.channel);
  // An attempt that sends is counted in the response and ends.
  return {
    ...forbidOlder(state, channel === 'retrying' || isSent),
    status: 'draft',
    isDue: false,
    revision: state.revision + 1,
    channel: isSent ? state.channel : channel,
  };
}

/** Attempts that began before this must not send. @param endsSends Whether those that have sent something may. */
const forbidOlder = (state: State, endsSends = false): State => {
  const forbid = (attempt: Attempt | null) =>
    attempt && { ...attempt, isForbidden: attempt.isForbidden || !(endsSends && attempt.hasSent) };
  const [first, second] = state.attempts;
  return { ...state, attempts: [forbid(first), forbid(second)] };
};

function schedule(state: State, { parts }: Bounds, text: number): State | null {
  const { status, channel, ledger } = state;
  const isLive = ledger.some((row) => row.state === 'sent' || (isOpen(row) && parts > 1));
  const isUnderWay = channel === 'publishing' || channel === 'retrying';
  const canBeSent = ['draft', 'scheduled', 'failed'].includes(channel) || isUnderWay;
  if ((status !== 'draft' && status !== 'scheduled') || !canBeSent) {
    return null;
  }

  if (text !== state.text && isLive) {
    return null; // The text of a live part cannot change.
  }

  return {
    ...(text !== state.text && !isUnderWay ? forbidOlder(state) : state),
    status: 'scheduled',
    text,
    isDue: false,
    isOver: false,
    revision: state.revision + 1,
    run: status === 'draft' ? state.run + 1 : state.run,
    channel: channel === 'publishing' ? channel : 'scheduled',
  };
}

function retry(state: State): State | null {
  const hasEnded = state.status === 'published' || state.status === 'failed';
  if (!hasEnded || state.channel !== 'failed') {
    return null;
  }

  const { revision, run } = state;
  return {
    ...state,
    status: 'publishing',
    channel: 'scheduled',
    revision: revision + 1,
    run: run + 1,
    isDue: true,
    isOver: false,
  };
}

/** The owner checks the account and reports what is there. */
function settle(state: State, { parts }: Bounds): State | null {
  const open = state.ledger.filter(isOpen);
  if (state.channel !== 'unconfirmed' || open.some(({ mayLand }) => mayLand)) {
    return null;
  }

  // A restored database may lack the send; then the owner answers for the whole post.
  const isThere =
    state.ledger.length === 0
      ? state.live.length === parts
      : open.every((row) =>
          state.live.some(({ part, text }) => part === row.part && text === row.text),
        );
  const ledger = state.ledger.map((row): Row =>
    isOpen(row) ? { ...row, state: isThere ? 'sent' : 'refused' } : row,
  );
  const sent = new Set(ledger.flatMap((row) => (row.state === 'sent' ? [row.part] : [])));
  const settled: State = {
    ...state,
    ledger,
    channel: isThere && (ledger.length === 0 || sent.size === parts) ? 'published' : 'failed',
  };
  return state.status === 'published' || state.status === 'failed'
    ? refinalizePost(settled)
    : settled;
}
