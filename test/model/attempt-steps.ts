import { fateOfChannel } from '../../domain/next-attempt.ts';
import { markKnown, markNew, newRows, noteAnswer, notTaken, send, sentIn } from './send-steps.ts';
import {
  drop,
  refinalizePost,
  isFinal,
  put,
  rowsThatCount,
  type Bounds,
  type Row,
  type State,
  type Step,
  type Attempt,
} from './state.ts';

/** The next steps of an attempt on the channel (activities/publish-channel). Each is one statement or one request. */
export function* attemptSteps(state: State, bounds: Bounds, slot: 0 | 1): Generator<Step> {
  const attempt = state.attempts[slot];
  if (attempt === null) {
    return;
  }

  const calm = (name: string, to: State): Step => ({
    name: `${slot === 0 ? 'attempt' : 'old attempt'}: ${name}`,
    to,
    isCalm: true,
  });
  switch (attempt.at) {
    case 'begun':
      yield calm(...advance(state, bounds, slot, attempt));
      break;
    case 'looked':
      yield calm('records the reconcile', noteReconcile(state, slot, attempt));
      break;
    case 'marked':
      for (const step of send(state, bounds, slot, attempt)) {
        yield { ...step, name: `${slot === 0 ? 'attempt' : 'old attempt'}: ${step.name}` };
      }

      break;
    case 'answered':
      yield calm('records the response', noteAnswer(state, slot, attempt));
      break;
    case 'failing':
      yield calm('records its failure', fail(state, slot, attempt));
      break;
  }
}

/** Temporal starts an attempt, which reads the post. Its first intent compares the post's revision. */
export function startAttempt(state: State): State {
  const isUnderWay = state.channel === 'publishing' || state.channel === 'retrying';
  const isCancelled = state.status === 'draft' && isUnderWay;
  const last = Math.max(...state.ledger.map(({ run }) => run));
  const attempt: Attempt = {
    at: 'begun',
    run: isCancelled && state.ledger.length > 0 ? last : state.run,
    revision: state.revision,
    text: state.text,
    hasSent: false,
    isForbidden: false,
    isCancelled,
    view: state.ledger,
    finding: null,
    isStale: false,
  };
  return isFinal(state.channel) || !(state.status === 'publishing' || isCancelled)
    ? end(state, 0)
    : put(state, 0, attempt);
}

/** The next step for the attempt's view of the ledger: open parts first, then missing ones. */
function advance(state: State, bounds: Bounds, slot: 0 | 1, attempt: Attempt): [string, State] {
  const rows = rowsThatCount(attempt.view, attempt.run);
  const open = rows.find((row) => row.state === 'sending');
  if (open) {
    return ['looks', reconcile(state, bounds, slot, attempt, open)];
  }

  const remaining = rows.filter((row) => row.state !== 'sent');
  if (attempt.isCancelled && (rows.length === 0 || remaining.length > 0)) {
    return ['stops', put(state, slot, { ...attempt, at: 'failing', finding: 'never' })];
  }

  if (rows.length > 0 && rows.length < bounds.parts && !attempt.isCancelled) {
    return ['adds the missing rows', put(...addRows(state, bounds, slot, attempt))];
  }

  if (rows.length > 0 && remaining.length === 0) {
    return ['is published', publish(state, slot)];
  }

  if (state.isOver) {
    return ['is too late', put(state, slot, { ...attempt, at: 'failing', finding: 'never' })];
  }

  const marked =
    rows.length === 0
      ? markNew(state, bounds, attempt)
      : markKnown(state, bounds, attempt, remaining[0]);
  return marked
    ? ['marks', put(marked, slot, { ...attempt, at: 'marked', hasSent: true, view: marked.ledger })]
    : ['is superseded', drop(state, slot)];
}

function reconcile(
  state: State,
  { keyed, faults }: Bounds,
  slot: 0 | 1,
  attempt: Attempt,
  open: Row,
): State {
  // A keyed network finds the post by its key, others by its text.
  const isThere = state.live.some(
    ({ run, part, text }) => part === open.part && (keyed ? run === open.run : text === open.text),
  );
  const mayLand = open.mayLand && !(keyed && faults.includes('sends again at once'));
  const finding = isThere ? 'found' : mayLand ? 'not now' : 'absent';
  return put(state, slot, { ...attempt, at: 'looked', finding });
}

function addRows(
  state: State,
  { parts }: Bounds,
  slot: 0 | 1,
  attempt: Attempt,
): [State, 0 | 1, Attempt] {
  const known = new Set(rowsThatCount(attempt.view, attempt.run).map(({ part }) => part));
  const added = newRows(parts, attempt).filter(
    ({ part }) =>
      !known.has(part) && !state.ledger.some((row) => row.run === attempt.run && row.part === part),
  );
  const ledger = [...state.ledger, ...added];
  return [{ ...state, ledger }, slot, { ...attempt, view: ledger }];
}

function noteReconcile(state: State, slot: 0 | 1, attempt: Attempt): State {
  const row = rowsThatCount(attempt.view, attempt.run).find((one) => one.state === 'sending');
  if (!row || attempt.finding === 'not now') {
    return put(state, slot, { ...attempt, at: 'failing' });
  }

  const ledger =
    attempt.finding === 'found' ? sentIn(state.ledger, row) : notTaken(state.ledger, row, 'ready');
  return put({ ...state, ledger }, slot, { ...attempt, at: 'begun', view: ledger, finding: null });
}

/** The channel is published. A post that had ended without it, or was cancelled, ends again. */
function publish(state: State, slot: 0 | 1): State {
  const isNew = state.channel !== 'published';
  const published: State = { ...state, channel: 'published' };
  const isOver = ['published', 'failed'].includes(state.status) && isNew;
  return end(isOver || state.status === 'draft' ? refinalizePost(published) : published, slot);
}

/** Records a failed attempt and its consequences, as `recordFailure` does. */
function fail(state: State, slot: 0 | 1, attempt: Attempt): State {
  const rows = rowsThatCount(state.ledger, attempt.run);
  const isEarlier = state.status === 'publishing' && state.run !== attempt.run;
  if (isEarlier || (rows.length > 0 && rows.every((row) => row.state === 'sent'))) {
    return drop(state, slot); // Its run is over, or another attempt has sent all parts since.
  }

  const isInDoubt = rows.some((row) => row.state === 'sending');
  const isLast = state.isOver || (attempt.finding === 'never' && !isInDoubt);
  const fate = fateOfChannel({
    post: state.status,
    isInDoubt,
    isPartLive: rows.some((row) => row.state === 'sent'),
    next: isLast
      ? { kind: 'give_up', code: attempt.isCancelled ? 'cancelled' : 'content_refused' }
      : { kind: 'retry', atMs: 0, counts: true },
  });
  const isOpen = ['scheduled', 'publishing', 'retrying'].includes(state.channel);
  const channel = fate === 'retry' ? 'retrying' : fate === 'cancelled' ? 'failed' : fate;
  const to: State = isOpen ? { ...state, channel } : state;
  if (fate === 'retry') {
    return drop(to, slot);
  }

  const hasEnded = (fate === 'failed' || fate === 'unconfirmed') && isFinal(to.channel);
  return end(state.status === 'draft' && hasEnded ? refinalizePost(to) : to, slot);
}

/** The activity is over. An activity that timed out in Temporal changes nothing. */
function end(state: State, slot: 0 | 1): State {
  const ended = drop(state, slot);
  return slot === 0 && ended.workflow
    ? { ...ended, workflow: { ...ended.workflow, isDone: true } }
    : ended;
}
