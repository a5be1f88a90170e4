/** Which rules of the product hold, and how often things may happen. Other steps are not limited. */
export type Bounds = {
  /** Parts of the thread. */
  readonly parts: 1 | 2;
  /** Whether an equal key makes no second post, as on Bluesky; such networks need no settling time. */
  readonly keyed: boolean;
  /** Faults of earlier versions to reintroduce. */
  readonly faults: readonly Fault[];
  /** Limit of the owner's calls: cancel, edit, schedule, retry, settle. */
  readonly calls: number;
  readonly mishaps: readonly Mishap[];
  /** Limit of all mishaps together. */
  readonly mishapsInAll: number;
};

export type Fault =
  /** The first intent of an attempt does not compare the post with what the attempt read. */
  | 'ignores a concurrent cancel'
  /** Only the post's own workflow reconciles a cancelled send. */
  | 'leaves a cancelled send'
  /** A keyed network is sent to again at once, because an equal key makes no second post. */
  | 'sends again at once'
  /** An attempt that was suspended sends anyway. */
  | 'sends after a freeze'
  /** A restored database starts without `restore finish`. */
  | 'skips restore finish';

/** Something that goes wrong. */
export type Mishap =
  /** A worker dies. */
  | 'crash'
  /** A worker hangs until another one takes over, and then continues. */
  | 'hang'
  /** The workflow is terminated. */
  | 'termination'
  /** The network refuses the request, temporarily or permanently. */
  | 'refusal'
  /** The network's response is lost; its post may appear later, or never. */
  | 'loss'
  /** The database returns to an earlier state. */
  | 'restore';

/** One part of a thread in the ledger. */
export type Row = {
  readonly run: number;
  readonly part: number;
  /** The version of the text. */
  readonly text: number;
  readonly state: 'ready' | 'sending' | 'sent' | 'refused';
  /** The number of the row's last send; 0 for none. */
  readonly send: number;
  /** Whether a request of that send may still land. */
  readonly mayLand: boolean;
};

export type ChannelStatus =
  | 'draft'
  | 'scheduled'
  | 'publishing'
  | 'retrying'
  | 'published'
  | 'failed'
  | 'unconfirmed';

/** The content of a backup: everything but Temporal, the workers and the network. */
export type Database = {
  readonly status: 'draft' | 'scheduled' | 'publishing' | 'published' | 'failed';
  readonly revision: number;
  readonly synced: number;
  readonly run: number;
  readonly text: number;
  readonly isDue: boolean;
  /** A day has passed since the post's due time or its last retry. */
  readonly isOver: boolean;
  readonly channel: ChannelStatus;
  readonly ledger: readonly Row[];
  /** The runs that have a final event. */
  readonly events: readonly number[];
};

export type Workflow = {
  readonly heard: number;
  /** It claims at once: the post was cancelled, or its publishing was interrupted. */
  readonly isAsking: boolean;
  /** The revision of its claim; null while it waits for the due time. */
  readonly claimed: number | null;
  /** A signal arrived since the claim. */
  readonly isStopped: boolean;
  /** The channel's activity has ended. */
  readonly isDone: boolean;
};

/** An attempt on the channel. Its values may be stale. */
export type Attempt = {
  readonly at: 'begun' | 'looked' | 'marked' | 'answered' | 'failing';
  readonly run: number;
  readonly revision: number;
  readonly text: number;
  /** It has sent something, so a cancel lets it finish. */
  readonly hasSent: boolean;
  /** A cancel since the read forbids any further send of this text. */
  readonly isForbidden: boolean;
  /** The post was cancelled while the channel was being sent: open parts are reconciled. */
  readonly isCancelled: boolean;
  /** The ledger at the last read. */
  readonly view: readonly Row[];
  /** `found`: the network showed it. `taken`: the network's response confirmed it. */
  readonly finding: 'found' | 'absent' | 'taken' | 'not now' | 'never' | 'no answer' | null;
  /** Suspended for so long since its intent that its request is no longer allowed. */
  readonly isStale: boolean;
};

/** A post on the network, or on its way there. */
export type Copy = {
  readonly run: number;
  readonly part: number;
  readonly text: number;
};

/** A post with one channel, and everything that concerns it. */
export type State = Database & {
  readonly workflow: Workflow | null;
  /** The attempt that Temporal waits for, and one that timed out in Temporal but still runs. */
  readonly attempts: readonly [Attempt | null, Attempt | null];
  readonly requests: readonly Copy[];
  readonly live: readonly Copy[];
  readonly sends: number;
  readonly backup: Database | null;
  /** A workflow of the post has ended since the backup; Temporal lists it. */
  readonly hasEndedSince: boolean;
  readonly isRestored: boolean;
  readonly callsLeft: number;
  readonly mishapsLeft: number;
  /** The violation, or null. */
  readonly wrong: string | null;
};

export const startOf = ({ calls, mishapsInAll }: Bounds): State => ({
  status: 'scheduled',
  revision: 1,
  synced: 0,
  run: 1,
  text: 0,
  isDue: false,
  isOver: false,
  channel: 'scheduled',
  ledger: [],
  events: [],
  workflow: null,
  attempts: [null, null],
  requests: [],
  live: [],
  sends: 0,
  backup: null,
  hasEndedSince: false,
  isRestored: false,
  callsLeft: calls,
  mishapsLeft: mishapsInAll,
  wrong: null,
});

/** A possible next step. */
export type Step = {
  readonly name: string;
  readonly to: State;
  /** Happens sooner or later if the owner does nothing and nothing breaks. */
  readonly isCalm: boolean;
};

export const isFinal = (status: ChannelStatus): boolean =>
  status === 'published' || status === 'failed' || status === 'unconfirmed';

/** @returns the state after a mishap of this kind, or null when no more are allowed. */
export const afterMishap = (state: State, { mishaps }: Bounds, kind: Mishap): State | null =>
  mishaps.includes(kind) && state.mishapsLeft > 0
    ? { ...state, mishapsLeft: state.mishapsLeft - 1 }
    : null;

/** The network has the part, or may have it. */
export const isOut = ({ state }: Row): boolean => state === 'sent' || state === 'sending';

/** Ends a post that had ended or was cancelled by its channel's current status, with an event of its own. */
export function refinalizePost(state: State): State {
  const run = state.run + 1;
  const status = state.channel === 'published' ? 'published' : 'failed';
  return { ...state, run, status, events: [...state.events, run] };
}

/** The row of each part that the network has or will have, as `ledgerRows` of the product returns them. */
export function rowsThatCount(ledger: readonly Row[], run: number): Row[] {
  const weight = ({ state }: Row): number => ({ sent: 2, sending: 1, ready: 0, refused: 0 })[state];
  const found = new Map<number, Row>();
  for (const row of ledger) {
    const other = found.get(row.part);
    const counts = row.run === run || weight(row) > 0;
    const isBetter =
      !other ||
      weight(row) > weight(other) ||
      (weight(row) === weight(other) && row.run > other.run);
    if (counts && isBetter) {
      found.set(row.part, row);
    }
  }

  return [...found.values()].toSorted((a, b) => a.part - b.part);
}

export const put = (state: State, slot: 0 | 1, attempt: Attempt | null): State => ({
  ...state,
  attempts: slot === 0 ? [attempt, state.attempts[1]] : [state.attempts[0], attempt],
});

/** The attempt is over; Temporal starts another. */
export const drop = (state: State, slot: 0 | 1): State => put(state, slot, null);
