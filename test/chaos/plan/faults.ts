/** Points at which a worker kills or suspends itself when it handles a certain post. */
export const workerFaults = [
  'killed before the intent',
  'killed after the intent',
  'killed before the record',
  'suspended before the send',
  'killed in mid-upload',
  // Needs a line as well: the post is cancelled while its request is on the way.
  'killed in a late record',
] as const;
export type WorkerFault = (typeof workerFaults)[number];

/** Faults that a line applies to one request for posts. */
export const lineFaults = [
  // The line holds the response back until the worker is dead, so that the worker cannot receive it.
  "killed after the network's commit",
  'answer lost',
  'answer after the timeout',
  'request after the timeout',
  '429 storm',
  '500, not done',
  '500, done all the same',
  'refused',
  'terminated in mid-send',
  '429 after a cancel',
  'killed in a late record',
] as const;
export type LineFault = (typeof lineFaults)[number];

/** Faults that a line applies to one request that carries or prepares a file. */
export const uploadFaults = ['upload cut off', 'processing slow'] as const;
export type UploadFault = (typeof uploadFaults)[number];

const withFiles: ReadonlySet<string> = new Set([...uploadFaults, 'killed in mid-upload']);

/** Whether the fault needs a post with a file. */
export const needsFile = (fault: PostFault): boolean => withFiles.has(fault);

/** Faults applied to a post from outside, at a time or when an attempt is about to begin. */
export type AimedFault = 'terminated asleep' | 'cancelled as a late attempt begins';

/** The faults of one post on one network. */
export type PostFault = WorkerFault | LineFault | UploadFault | AimedFault;

/** Faults that end with a cancel, so each gets a post of its own. */
export const singlePostFaults = [
  'killed in a late record',
  '429 after a cancel',
  'cancelled as a late attempt begins',
] as const;
export type SinglePostFault = (typeof singlePostFaults)[number];

/** Faults for any post without user steps. */
export const sharedFaults: readonly PostFault[] = [
  'terminated asleep',
  ...workerFaults.filter((fault) => !isOrdeal(fault)),
  ...lineFaults.filter((fault) => !isOrdeal(fault)),
  ...uploadFaults,
];

function isOrdeal(fault: PostFault): boolean {
  return singlePostFaults.some((each) => each === fault);
}

/** Points at which the next process is stopped or killed, whatever it works on. */
export const trapFaults = [
  'killed in finalize',
  'API killed after the commit',
  'terminated in finalize',
] as const;
export type TrapFault = (typeof trapFaults)[number];

/** Faults of the next refresh of a channel's grant. */
export const refreshFaults = [
  'refresh answered 500',
  'refresh limited',
  'refresh not answered',
  'refresh answer lost',
  'grant revoked',
  'killed after a refresh',
] as const;
export type RefreshFault = (typeof refreshFaults)[number];

/** Faults of a server with only a few of the accounts. */
export type ServerFault = 'server hangs' | 'server answers 502';

/** Faults of everything at once, or of a whole account. */
export type WideFault =
  | 'Temporal away'
  | 'PostgreSQL away'
  | 'PostgreSQL restored'
  | 'token revoked'
  | ServerFault;

export type Fault = PostFault | TrapFault | RefreshFault | WideFault;

/** In the order of the report's table. */
export const faultTitles: Readonly<Record<Fault, string>> = {
  'killed before the intent': 'worker killed before the intent',
  'killed after the intent': 'worker killed after the intent',
  "killed after the network's commit": "worker killed after the network's commit",
  'killed before the record': 'worker killed before the record',
  'killed in mid-upload': 'worker killed in the middle of an upload',
  'killed in finalize': 'worker killed in finalize',
  'API killed after the commit': 'API killed between commit and start',
  'Temporal away': 'Temporal unavailable for 20 s',
  'PostgreSQL away': 'PostgreSQL unavailable for 10 s',
  'PostgreSQL restored': 'PostgreSQL restored from a backup',
  'terminated asleep': 'workflow terminated while its post sleeps',
  'terminated in mid-send': 'workflow terminated in mid-send',
  'terminated in finalize': 'workflow terminated in finalize',
  'suspended before the send': 'worker suspended between intent and send',
  'cancelled as a late attempt begins': 'cancelled and edited as a late attempt begins',
  '429 after a cancel': 'cancelled, and a later part met a 429',
  'killed in a late record': 'cancelled in mid-send, and worker killed in the record',
  'server hangs': 'server accepts requests and does not respond',
  'server answers 502': 'server answers 502 to everything',
  'upload cut off': 'upload cut off by the network',
  'processing slow': 'file that the network processes slowly',
  'answer lost': 'response of the network lost',
  'answer after the timeout': 'response later than the timeout',
  'request after the timeout': 'request that reaches the network after the timeout',
  '429 storm': '429 storm of a whole network',
  '500, not done': '500 in place of the post',
  '500, done all the same': '500 after the post was made',
  refused: 'post refused once, and retried by its user',
  'token revoked': 'access of a channel revoked',
  'refresh answered 500': 'refresh answered 500',
  'refresh limited': 'refresh answered 429',
  'refresh not answered': 'refresh not answered',
  'refresh answer lost': 'new tokens lost on their way',
  'grant revoked': 'grant revoked, and the account connected again',
  'killed after a refresh': 'worker killed before it has the new tokens',
};
