/** On how many networks each fault of a post comes about: it is planned as often on every one. */
export const platforms = ['mastodon', 'bluesky'] as const;
export type Platform = (typeof platforms)[number];

/** Where a worker kills itself as soon as it has a certain post in its hands. */
export const workerFaults = [
  'killed before the intent',
  'killed after the intent',
  'killed before the record',
] as const;
export type WorkerFault = (typeof workerFaults)[number];

/** What the line before a network does to one request that makes posts. */
export const lineFaults = [
  // The network's answer is held back while the worker is killed, so that it cannot have seen it.
  "killed after the network's commit",
  'answer lost',
  'answer after the timeout',
  'request after the timeout',
  '429 storm',
  '500, not done',
  '500, done all the same',
  'refused',
] as const;
export type LineFault = (typeof lineFaults)[number];

/** What befalls one post on one network. */
export type PostFault = WorkerFault | LineFault;

/** A point at which a process kills itself with whatever it has in its hands, once it was told to. */
export const trapFaults = ['killed in finalize', 'API killed after the commit'] as const;
export type TrapFault = (typeof trapFaults)[number];

/** What befalls everything at once, or a whole account. */
export type WideFault = 'Temporal away' | 'PostgreSQL away' | 'token revoked';

export type Fault = PostFault | TrapFault | WideFault;

/** In the order in which the table shows them. */
export const faultTitles: Readonly<Record<Fault, string>> = {
  'killed before the intent': 'worker killed before the intent',
  'killed after the intent': 'worker killed after the intent',
  "killed after the network's commit": "worker killed after the network's commit",
  'killed before the record': 'worker killed before the record',
  'killed in finalize': 'worker killed in finalize',
  'API killed after the commit': 'API killed between commit and start',
  'Temporal away': 'Temporal away for 20 s',
  'PostgreSQL away': 'PostgreSQL away for 10 s',
  'answer lost': 'answer of the network lost',
  'answer after the timeout': 'answer later than the timeout',
  'request after the timeout': 'request that reaches the network after the timeout',
  '429 storm': '429 storm of a whole network',
  '500, not done': '500 in place of the post',
  '500, done all the same': '500 after the post was made',
  refused: 'post refused once, and retried by its user',
  'token revoked': 'access of a channel revoked',
};

/** Until a post that met this fault is through, in seconds: at worst, and with nothing else going wrong. */
export const recoverySeconds: Readonly<Record<PostFault, number>> = {
  // Mastodon: the first retry comes too early to be sure that nothing will appear, the second after two minutes.
  '500, not done': 160,
  'request after the timeout': 70,
  'killed after the intent': 70,
  'answer after the timeout': 35,
  'killed before the intent': 30,
  "killed after the network's commit": 30,
  'killed before the record': 30,
  '429 storm': 15,
  'answer lost': 5,
  '500, done all the same': 5,
  refused: 10,
};
