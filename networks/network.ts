import type { Readable } from 'node:stream';
import type { ChannelErrorCode, LimitScope } from '../domain/channel-error.ts';
import type { Json } from '../domain/json-schema.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Allowance, AttachmentFacts, Options, Rules } from './content-rules.ts';

export type Account = {
  /**
   * The base URL of the network's API, without a trailing slash: a Mastodon instance, a Bluesky PDS. May differ from the
   * URL that a person gave.
   */
  readonly baseUrl: string;
  /** The account's permanent id on the network: a DID, a Mastodon account id. */
  readonly remoteId: string;
  /** Whether more than the server's own word says that the account is there, so that its channel follows it. */
  readonly isProved?: boolean;
  readonly handle: string;
  /** The display name from the network, shown only if it is text. Absent when the network has none. */
  readonly displayName?: unknown;
  /** Contains secrets. Each network parses its own shape of this, of `session` and of `settings`. */
  readonly credentials: Json;
  /** The latest session that was stored for the credentials, or null. Contains secrets. */
  readonly session: Json;
  /** The server's text limits, another web URL. */
  readonly settings: Json;
};

/** A connected account, opened for one attempt. The only place with unsealed secrets. */
export type Connection = Omit<Account, 'displayName'> & {
  /** Stores a new session (sealed), for the next call and the next attempt. */
  readonly saveSession: (session: Json) => Promise<void>;
  /**
   * The upload state that an earlier attempt stored for a part: the URL of a resumable upload, the ids of uploaded
   * files, the card of a link. Null when nothing was stored. Each network parses its own shape.
   */
  readonly uploadsOf: (part: ThreadPart) => Json;
  /** Stores the upload state (sealed) with the part in the ledger; null removes it. Resolves once it is committed. */
  readonly saveUploads: (part: ThreadPart, uploads: Json) => Promise<void>;
  /** The channel's workspace, by which shared work is divided fairly. Absent for a connection without a workspace. */
  readonly workspaceId?: string | undefined;
  /** The database's clock, since a worker's may be wrong. Default: this machine's. */
  readonly now?: () => Date;
  readonly http: Egress;
  /** Fetches pages and pictures that a text links to. Absent: nothing is fetched, and posts go out without cards. */
  readonly downloads?: Downloader;
  /** Aborts at the end of the attempt's time; `stopping`, which ends look-ups, when the worker stops. */
  readonly signal: AbortSignal;
  readonly stopping?: AbortSignal | undefined;
  /** Asked right before a request creates a post. False after a stall, when another attempt may have taken over. */
  readonly mayCreate?: () => boolean;
};

export type PartMedia = AttachmentFacts & {
  readonly id: string;
  /** @throws NetworkError `media_refused` when the file is gone, `internal` when the storage does not answer. */
  readonly open: (fromByte?: number) => Promise<Readable>;
};

/**
 * One post of a thread; a single post is a thread of one. On a network without threads whose posts have comments, the
 * first part is the post and the second one its first comment.
 */
export type ThreadPart = {
  /** Unique per channel, run and part, and the same in every attempt. At most 64 characters of `[a-z0-9-]`. */
  readonly key: string;
  /** Empty for a post of media only. */
  readonly text: string;
  readonly media: readonly PartMedia[];
  /** The channel's options, in the shape of `rules.options`; the same for all parts. */
  readonly options: Options;
  /** Media files that options refer to by id, by the option's name: a video's thumbnail. */
  readonly optionFiles?: Readonly<Record<string, PartMedia>>;
  /** The post's time, or that of its last retry. Keys made from it stay the same after a restore of the database. */
  readonly dueAtMs?: number;
};

/** A part with the data that all attempts share: record keys, `createdAt`, the newest status before it. */
export type PreparedPart = ThreadPart & { readonly data: Json };

export type SentPart = {
  readonly remoteId: string;
  /** The exact live URL that a browser opens. */
  readonly url: string;
  /** Differences from the owner's post, as sentences: an image that was made smaller. */
  readonly warning?: string;
};

/** The parts to act on now: consecutive, and after `sent` in the thread. */
export type PublishStep = {
  readonly parts: readonly PreparedPart[];
  /** The parts of this thread that are already live, in order. Empty for a thread's beginning. */
  readonly sent: readonly SentPart[];
};

export function onlyPart({ parts }: PublishStep): PreparedPart {
  const [part, ...more] = parts;
  if (!part || more.length > 0) {
    throw new Error(`A step of a sequential network has one part, not ${parts.length}.`);
  }

  return part;
}

export type Readiness =
  | { readonly kind: 'ready'; readonly warning?: string }
  /** The network is still processing it. @param checkAfterMs The earliest time to ask again. */
  | { readonly kind: 'processing'; readonly checkAfterMs: number };

/** The result of a reconcile: whether the posts of a step are live. */
export type Finding =
  /** The posts exist. Several candidates for equal posts; the ledger takes the first that belongs to no other part. */
  | { readonly kind: 'found'; readonly candidates: readonly (readonly SentPart[])[] }
  /**
   * The posts do not exist at the moment.
   *
   * @param data Replaces each part's `data`, in order, once the parts count as not sent. A network that does not show
   *   its posts records here that a send was in doubt. Absent: no change.
   * @param isHidden Whether the network shows no posts to this app, so that nothing proves their absence. Only a second
   *   send of the same part can tell, because the network refuses duplicates. Without it the part stays in doubt.
   */
  | { readonly kind: 'absent'; readonly data?: readonly Json[]; readonly isHidden?: boolean };

/** The result of a removal. `not_found`: the network itself says that the part does not exist. */
export type Removal = 'removed' | 'not_found';

export const metricNames = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;

export type MetricName = (typeof metricNames)[number];

/** Whole numbers from 0. A metric that the network does not report is absent, never 0. */
export type Metrics = Readonly<Partial<Record<MetricName, number>>>;

/**
 * `gone`: the network says that the post no longer exists. Never concluded from a failure or from silence.
 * `unasked`: the post was not read, because time ran out or the network limited the requests.
 */
export type PostReading =
  | { readonly kind: 'read'; readonly metrics: Metrics }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unasked' };

export type MetricsReader = {
  /** The largest number of posts per call of `read`. */
  readonly batchSize: number;
  /** Posts per calendar month (UTC) over all accounts, on networks that charge for reads; null for no limit. */
  readonly readsPerMonth: number | null;
  /**
   * @param remoteIds As `send` returned them, for a thread the first part's. At most `batchSize`.
   * @returns the readings. A post without one keeps its last metrics, and is read again later.
   * @throws NetworkError with `accepted: 'no'`, when nothing was read.
   */
  read(
    connection: Connection,
    remoteIds: readonly string[],
  ): Promise<ReadonlyMap<string, PostReading>>;
  /** The number of followers; null when the network does not report it. Absent on networks that never do. */
  followers?(connection: Connection): Promise<number | null>;
};

/**
 * The interface of an adapter. The ledger (`activities/publish-channel`) calls it, and never repeats `send` for a part
 * whose outcome is open. Every method throws `NetworkError` for failures of the network or of the connection to it.
 */
export type Network = {
  readonly id: string;
  readonly rules: Rules;
  /** `atomic`: a thread goes out in one step, all or nothing. `sequential`: a step is one part. */
  readonly threads: 'atomic' | 'sequential';
  /**
   * Computes the data that all attempts share. May read from the network; creates nothing.
   *
   * @param before The earlier parts of the thread, if they went out before the thread was lengthened.
   */
  prepare(
    connection: Connection,
    parts: readonly ThreadPart[],
    nowMs: number,
    before?: readonly PreparedPart[],
  ): Promise<PreparedPart[]>;
  /**
   * Prepares parts again that are certainly not on the network, so that a post that was delayed for hours does not
   * carry the time of its first attempt. Data that prevent a second post (a record key) do not change. Absent on
   * networks whose prepared parts do not age.
   *
   * @param before The earlier parts of the thread.
   */
  renew?(
    connection: Connection,
    parts: readonly PreparedPart[],
    nowMs: number,
    before: readonly PreparedPart[],
  ): Promise<PreparedPart[]>;
  /**
   * Uploads the files of a step's parts, without creating posts. Called before every send, because networks delete
   * unused files; all its errors have `accepted: 'no'`. It is separate from `send`, so that it ends before the intent is
   * committed: `appearsWithinMs` counts from the intent, and a worker that dies during an upload leaves no open part.
   *
   * A resumable upload stores its state with `connection.saveUploads` before its first byte leaves.
   *
   * @returns the network's id of every file, in the order of the parts and their media.
   */
  upload(connection: Connection, step: PublishStep): Promise<readonly string[]>;
  /** Creates the posts of a step; the only call that must not be repeated. Returns one entry per part. */
  send(connection: Connection, step: PublishStep, files: readonly string[]): Promise<SentPart[]>;
  /** Checks whether the posts of a step exist, by their prepared data. Creates nothing. */
  reconcile(connection: Connection, step: PublishStep): Promise<Finding>;
  /**
   * Whether an accepted part is visible. Called after a send until it is `ready`; only then is the channel published.
   * Absent on networks whose posts are live once they are accepted.
   *
   * @throws NetworkError `media_refused` or `content_refused` when the network dropped the post: it does not exist, and
   *   a retry sends it again. After any other error the check is repeated.
   */
  readiness?(connection: Connection, part: PreparedPart, sent: SentPart): Promise<Readiness>;
  /** Deletes the last of a post's live parts. Safe to repeat. Present exactly where `rules.canUnpublish` is. */
  remove?(connection: Connection, live: readonly SentPart[]): Promise<Removal>;
  readonly metrics?: MetricsReader;
  /** Absent when the app has no limit that workspaces share, or the operator set none. */
  readonly allowance?: Allowance | undefined;
};

/**
 * A failure of the network, or of the connection to it.
 *
 * `accepted: 'no'` when the network certainly has not created the post (it refused, or no byte of the request left),
 * `accepted: 'unknown'` when it may have. When in doubt, use `unknown`.
 */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly code: ChannelErrorCode;
  readonly accepted: 'no' | 'unknown';
  /** When the network said that it accepts requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** For `rate_limited`: the scope of the limit. When in doubt, `channel`. */
  readonly limit: LimitScope;
  readonly server: ServerEvidence | undefined;
  /**
   * For a `send` that was refused as a duplicate: the existing post, if an earlier send of the same part may have made
   * it. The ledger takes it unless it belongs to another part.
   */
  readonly existing: readonly SentPart[] | undefined;
  /** An `upload` transferred more of its files, and the next attempt continues. Does not count as an attempt. */
  readonly hasProgressed: boolean;
  /** For a refresh without a valid token, so that nothing was sent for a post. Does not count as an attempt. */
  readonly lacksToken: boolean;

  /** @param message What happened, for the user, with the network's own message. Without secrets and advice. */
  constructor(code: ChannelErrorCode, message: string, options: NetworkErrorOptions) {
    super(message, { cause: options.cause });
    this.code = code;
    this.accepted = options.accepted;
    this.retryAtMs = options.retryAtMs;
    this.limit = options.limit ?? 'channel';
    this.server = options.server;
    this.existing = options.existing;
    this.hasProgressed = options.hasProgressed ?? false;
    this.lacksToken = options.lacksToken ?? false;
  }
}

/** `answered`: any response came. `unreachable`: a timeout, or no connection. */
export type ServerEvidence = 'answered' | 'unreachable';

export type NetworkErrorOptions = {
  readonly accepted: 'no' | 'unknown';
  readonly retryAtMs?: number | undefined;
  readonly limit?: LimitScope | undefined;
  readonly server?: ServerEvidence | undefined;
  readonly existing?: readonly SentPart[] | undefined;
  readonly hasProgressed?: boolean | undefined;
  readonly lacksToken?: boolean | undefined;
  readonly cause?: unknown;
};
