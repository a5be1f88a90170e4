/** Which rules of the product hold, and what may happen how often. All else may happen at any time. */
export type Bounds = {
  /** Of the thread. */
  readonly parts: 1 | 2;
  /** Whether a second request with the same key makes no second post, as on Bluesky; such networks need no settling time. */
  readonly keyed: boolean;
  /** Faults of earlier versions that are put back. */
  readonly faults: readonly Fault[];
  /** How many calls of the post's owner: cancel, edit, schedule, retry, settle. */
  readonly calls: number;
  readonly mishaps: readonly Mishap[];
  /** How many of these in all. */
  readonly mishapsInAll: number;
};

export type Fault =
  /** A try begins by what the post was before the statement waited for a cancel. */
  | 'begins by what it read'
  /** A draft that is scheduled belongs to the publishing that was cancelled, unless that is in the ledger. */
  | 'keeps the run'
  /** Only its own workflow finishes what was being sent when the post was cancelled. */
  | 'leaves a cancelled send'
  /** A keyed network is asked again at once, as the same key makes no second post. */
  | 'sends again at once'
  /** A try that was frozen sends all the same. */
  | 'sends after a freeze'
  /** A restored database is started as it is: `restore finish` is left out. */
  | 'starts a backup as it is';

/** Something that goes wrong. */
export type Mishap =
  /** A worker dies. */
  | 'crash'
  /** A worker is silent for so long that another one takes over, and then goes on. */
  | 'hang'
  /** The workflow is terminated. */
  | 'termination'
  /** The network refuses for certain, for now or for good. */
  | 'refusal'
  /** The answer of the network is lost; its post may appear later, or never. */
  | 'loss'
  /** The database becomes what it was at some time before. */
  | 'restore';

/** One part of a thread in the ledger. */
export type Row = {
  readonly run: number;
  readonly part: number;
  /** The version of the text. */
  readonly text: number;
  readonly state: 'ready' | 'sending' | 'sent' | 'refused';
  /** Which send was the last one of this row; 0 for none. */
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

/** What a backup holds: everything but Temporal, the workers and the network. */
export type Database = {
  readonly status: 'draft' | 'scheduled' | 'publishing' | 'published' | 'failed';
  readonly revision: number;
  readonly synced: number;
  readonly run: number;
  readonly text: number;
  readonly isDue: boolean;
  /** A day has passed since the post's time, or that of its last retry. */
  readonly isOver: boolean;
  readonly channel: ChannelStatus;
  readonly ledger: readonly Row[];
  /** The runs that have a final event. */
  readonly events: readonly number[];
};

export type Workflow = {
  readonly heard: number;
  readonly canceled: boolean;
  /** The revision at its claim; null while it waits for the post's time. */
  readonly claimed: number | null;
  /** News came since the claim. */
  readonly isStopped: boolean;
  /** The channel's activity has ended. */
  readonly isDone: boolean;
};

/** A try of the channel, as far as it has come: what it goes by may be old. */
export type Try = {
  readonly at: 'read' | 'begun' | 'looked' | 'marked' | 'answered' | 'failing';
  readonly run: number;
  readonly text: number;
  /** Since it read the text, a cancel said that nothing of it goes out any more. */
  readonly isForbidden: boolean;
  readonly isPublishing: boolean;
  /** The post was cancelled while the channel was being sent: what is out is finished. */
  readonly isFinishing: boolean;
  /** The ledger as it was read last. */
  readonly view: readonly Row[];
  /** `found`: the network showed it. `taken`: it said so itself. */
  readonly finding: 'found' | 'absent' | 'taken' | 'not now' | 'never' | 'no answer' | null;
  /** It stood still for so long since its intent that its request is no longer allowed. */
  readonly isStale: boolean;
};

/** Something on the way to the network, or on it. */
export type Copy = {
  readonly run: number;
  readonly part: number;
  readonly text: number;
};

/** A post with one channel, and all that is under way with it. */
export type State = Database & {
  readonly workflow: Workflow | null;
  /** The one that Temporal waits for, and one that it has given up and that goes on all the same. */
  readonly tries: readonly [Try | null, Try | null];
  readonly requests: readonly Copy[];
  readonly live: readonly Copy[];
  readonly sends: number;
  readonly backup: Database | null;
  /** A workflow of the post has ended since the backup: Temporal lists it. */
  readonly hasEndedSince: boolean;
  readonly isRestored: boolean;
  readonly callsLeft: number;
  readonly mishapsLeft: number;
  /** What went wrong, if anything did. */
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
  tries: [null, null],
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

/** Something that may happen next. */
export type Step = {
  readonly name: string;
  readonly to: State;
  /** It happens sooner or later, if the owner does nothing and nothing breaks. */
  readonly isCalm: boolean;
};

export const isFinal = (status: ChannelStatus): boolean =>
  status === 'published' || status === 'failed' || status === 'unconfirmed';

/** @returns the state after a mishap of this kind; null when there is none any more. */
export const afterMishap = (state: State, { mishaps }: Bounds, kind: Mishap): State | null =>
  mishaps.includes(kind) && state.mishapsLeft > 0
    ? { ...state, mishapsLeft: state.mishapsLeft - 1 }
    : null;

/** The network has it, or may have it. */
export const isOut = ({ state }: Row): boolean => state === 'sent' || state === 'sending';

/** A post that had ended, or was cancelled, ends by what its channel is now, with an event of its own. */
export function refinalizePost(state: State): State {
  const run = state.run + 1;
  const status = state.channel === 'published' ? 'published' : 'failed';
  return { ...state, run, status, events: [...state.events, run] };
}

/** What the network has or will have of a part: see `ledgerRows` of the product. */
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

export const put = (state: State, slot: 0 | 1, attempt: Try | null): State => ({
  ...state,
  tries: slot === 0 ? [attempt, state.tries[1]] : [state.tries[0], attempt],
});

/** The try is over; Temporal makes another. */
export const drop = (state: State, slot: 0 | 1): State => put(state, slot, null);
