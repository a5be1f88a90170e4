import {
  afterMishap,
  drop,
  put,
  type Bounds,
  type Copy,
  type Row,
  type State,
  type Step,
  type Attempt,
} from './state.ts';

// A send, from its intent in the ledger to the stored response (db/ledger/intents.ts, db/ledger/outcomes.ts,
// activities/publish-channel/send-thread.ts).

export const newRows = (parts: number, { run, text }: Attempt): Row[] =>
  Array.from({ length: parts }, (_, part) => {
    return { run, part, text, state: 'ready', send: 0, mayLand: false };
  });

/** The first intent of an attempt starts it: the channel becomes `publishing`. Later ones need only the same run. */
function started(state: State, { faults }: Bounds, attempt: Attempt): State | null {
  const { channel, status, revision, run } = state;
  const isSame =
    faults.includes('ignores a concurrent cancel') ||
    (status === 'publishing' && revision === attempt.revision);
  const maySend = attempt.hasSent
    ? channel === 'publishing' && run === attempt.run
    : isSame && ['scheduled', 'publishing', 'retrying'].includes(channel);
  return maySend ? { ...state, channel: 'publishing' } : null;
}

/** The first intent inserts the rows of all parts. */
export function markNew(from: State, bounds: Bounds, attempt: Attempt): State | null {
  const state = started(from, bounds, attempt);
  const { parts } = bounds;
  if (state === null) {
    return null;
  }

  const isTaken = state.ledger.some(
    (row) => row.run >= attempt.run || row.state === 'sending' || row.state === 'sent',
  );
  if (isTaken) {
    return null;
  }

  const sends = state.sends + 1;
  const [first, ...others] = newRows(parts, attempt);
  const marked = first && { ...first, state: 'sending' as const, send: sends, mayLand: true };
  return { ...state, sends, ledger: [...state.ledger, ...(marked ? [marked] : []), ...others] };
}

/** The intent of a later part, or of one that was refused or not sent before. */
export function markKnown(
  from: State,
  bounds: Bounds,
  attempt: Attempt,
  next: Row | undefined,
): State | null {
  const state = started(from, bounds, attempt);
  if (state === null) {
    return null;
  }
  const index = state.ledger.findIndex((row) => row.run === next?.run && row.part === next.part);
  const row = state.ledger[index];
  const fits =
    row !== undefined &&
    (row.state === 'ready' || row.state === 'refused') &&
    !state.ledger.some(
      (other) =>
        other !== row &&
        (other.run > row.run ||
          (other.part === row.part && (other.state === 'sending' || other.state === 'sent'))),
    );
  if (!fits) {
    return null;
  }

  const sends = state.sends + 1;
  const marked: Row = { ...row, state: 'sending', send: sends, mayLand: true };
  return { ...state, sends, ledger: state.ledger.with(index, marked) };
}

/** The request leaves, and the network chooses its fate. */
export function* send(
  state: State,
  bounds: Bounds,
  slot: 0 | 1,
  attempt: Attempt,
): Generator<Step> {
  const { faults, keyed } = bounds;
  if (attempt.isStale && !faults.includes('sends after a freeze')) {
    yield { name: 'was frozen and sends nothing', to: drop(state, slot), isCalm: true };
    return;
  }

  const row = sendingOf(attempt);
  if (!row) {
    return;
  }

  const copy = { run: row.run, part: row.part, text: row.text };
  const isWanted = state.status === 'publishing' && state.text === row.text;
  const seen =
    attempt.isForbidden && !isWanted
      ? {
          ...state,
          wrong: state.wrong ?? `version ${row.text} goes out after a call that stopped it`,
        }
      : state;
  const answered = (to: State, finding: Attempt['finding']): State =>
    put(to, slot, { ...attempt, at: 'answered', finding });
  yield { name: 'is taken', to: answered(land(seen, copy, keyed), 'taken'), isCalm: true };
  const refused = afterMishap(seen, bounds, 'refusal');
  if (refused) {
    yield { name: 'is refused temporarily', to: answered(refused, 'not now'), isCalm: false };
    yield { name: 'is refused permanently', to: answered(refused, 'never'), isCalm: false };
  }

  const lost = afterMishap(seen, bounds, 'loss');
  if (lost) {
    const requests = [...lost.requests, copy];
    const to = answered({ ...lost, requests }, 'no answer');
    yield { name: 'gets no response', to, isCalm: false };
  }
}

/** Makes a post live. On a keyed network an equal key makes no second post. */
export function land(state: State, copy: Copy, keyed: boolean): State {
  const isThere =
    keyed && state.live.some(({ run, part }) => run === copy.run && part === copy.part);
  if (isThere) {
    return state;
  }

  const live = [...state.live, copy];
  const isTwice = live.filter(({ part }) => part === copy.part).length > 1;
  return {
    ...state,
    live,
    wrong: state.wrong ?? (isTwice ? `part ${copy.part} is live twice` : null),
  };
}

const sendingOf = ({ view }: Attempt): Row | undefined =>
  view.filter((row) => row.state === 'sending').toSorted((a, b) => b.send - a.send)[0];

/** Stores the response of `send`, as far as the row still holds the same send. */
export function noteAnswer(state: State, slot: 0 | 1, attempt: Attempt): State {
  const row = sendingOf(attempt);
  const { finding } = attempt;
  if (!row || finding === 'no answer') {
    return put(state, slot, { ...attempt, at: 'begun', view: state.ledger });
  }

  if (finding === 'taken') {
    const ledger = sentIn(state.ledger, row);
    return put({ ...state, ledger }, slot, {
      ...attempt,
      at: 'begun',
      view: ledger,
      finding: null,
    });
  }

  const ledger = notTaken(state.ledger, row, finding === 'never' ? 'refused' : 'ready');
  return put({ ...state, ledger }, slot, { ...attempt, at: 'failing' });
}

export const sentIn = (ledger: readonly Row[], { run, part }: Row): Row[] =>
  ledger.map((row) =>
    row.run === run && row.part === part ? { ...row, state: 'sent', mayLand: false } : row,
  );

/** Stores that this send did not succeed. A newer send of the row is unaffected. */
export const notTaken = (
  ledger: readonly Row[],
  { run, part, send: which }: Row,
  state: 'ready' | 'refused',
): Row[] =>
  ledger.map((row) =>
    row.run === run && row.part === part && row.send === which && row.state !== 'sent'
      ? { ...row, state }
      : row,
  );
