import type { Readable } from 'node:stream';
import type { ChannelErrorCode, LimitScope } from '../domain/channel-error.ts';
import type { Json } from '../domain/json-schema.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Allowance } from './allowance.ts';
import type { MediaFacts, Options, Rules } from './content-rules.ts';
import type { PostReading } from './metrics.ts';

/** A connected account, opened for one try. Secrets are in the clear here and nowhere else. */
export type Connection = {
  /** Where the network's API lives, without a trailing slash: a Mastodon instance, a Bluesky PDS. */
  readonly baseUrl: string;
  /** The account's permanent id on the network: a DID, a Mastodon account id. */
  readonly remoteId: string;
  readonly handle: string;
  /** What the operator connected the account with. Each network parses its own shape. */
  readonly credentials: Json;
  /** What the network handed out for those credentials, or null: the newest that was kept. Each network parses its own shape. */
  readonly session: Json;
  /** What holds for this account only: the server's text limits, another web address. Each network parses its own shape. */
  readonly settings: Json;
  /** Keeps a new session (sealed), for the next call and the next try. */
  readonly saveSession: (session: Json) => Promise<void>;
  /**
   * What an earlier try kept of a part's files that are on their way: the address of an upload that can be resumed, the
   * ids of files that are there, the card of a link. Null when nothing was kept. Each network parses its own shape.
   */
  readonly uploadsOf: (part: Part) => Json;
  /** Keeps it (sealed) with the part in the ledger, for the next try. Resolves once it is committed. */
  readonly saveUploads: (part: Part, uploads: Json) => Promise<void>;
  /** The workspace of the channel: workspaces take turns at shared work. Left out by connections without a workspace. */
  readonly workspaceId?: string | undefined;
  readonly http: Egress;
  /** Fetches pages and pictures that a text links to. Left out: nothing is fetched, and a post goes out without it. */
  readonly downloads?: Downloader;
  /** Aborts when the try's time is up or the worker stops. */
  readonly signal: AbortSignal;
  /**
   * Asked in the moment before the first byte of a request that creates a post: whether this try may still do so. One
   * that stood still for too long may not, as another one may have taken over.
   */
  readonly mayCreate?: () => boolean;
};

/** A file that a post publishes. */
export type PartMedia = MediaFacts & {
  /** In the media library. */
  readonly id: string;
  /**
   * The bytes, as they come; never all at once.
   *
   * @param fromByte Where to begin, for an upload that goes on: 0 or more and below `sizeBytes`. 0 when left out.
   * @throws NetworkError `media_refused` when the file is gone, `internal` when the storage does not answer.
   */
  readonly open: (fromByte?: number) => Promise<Readable>;
};

/**
 * One post of a thread; a single post is a thread of one. Of a network without threads whose posts have comments, the
 * first part is the post and a second one its first comment.
 */
export type Part = {
  /** Unique per channel, run and part, and the same on every try. At most 64 characters of `[a-z0-9-]`. */
  readonly key: string;
  /** Empty for a post of media only. */
  readonly text: string;
  /** In the order in which they are shown. */
  readonly media: readonly PartMedia[];
  /** What the post's owner chose for this channel, in the shape of `rules.options`; the same for all parts. */
  readonly options: Options;
  /** Files of the media library that options name by their ids, by the option's name: a video's thumbnail. */
  readonly optionFiles?: Readonly<Record<string, PartMedia>>;
};

/** A part with everything that must not change between tries: record keys, `createdAt`, the newest status before it. */
export type PreparedPart = Part & { readonly data: Json };

export type SentPart = {
  /** The network's id of the post: an at:// URI, a status id. */
  readonly remoteId: string;
  /** The exact live URL that a browser opens. */
  readonly url: string;
  /** What became of it otherwise than its owner may think, as sentences: an image that was made smaller. */
  readonly warning?: string;
};

/** The parts to act on now: consecutive, and after `sent` in the thread. */
export type Step = {
  readonly parts: readonly PreparedPart[];
  /** The parts of this thread that are already live, in order. Empty for a thread's beginning. */
  readonly sent: readonly SentPart[];
};

/** Whether what a network took is there to be seen. */
export type Readiness =
  | { readonly kind: 'ready'; readonly warning?: string }
  /** The network still works on it. @param checkAfterMs When to ask again, at the earliest. */
  | { readonly kind: 'processing'; readonly checkAfterMs: number };

/** What a look at the network says about a step whose outcome we do not know. */
export type Finding =
  /** The posts are there. More than one candidate when equal posts exist; the ledger takes the first that no other part claims. */
  | { readonly kind: 'found'; readonly candidates: readonly (readonly SentPart[])[] }
  /**
   * They are not there now.
   *
   * @param data What takes the place of each part's `data`, in their order, once the parts count as not sent: a network
   *   that does not show its posts notes here that a send was in doubt. Left out: it stays as it is.
   * @param isHidden The network shows no posts to this app, so nothing proves that they are not there. Only the same part
   *   sent again can tell, as the network refuses what it has. Where it is not sent again, it stays in doubt.
   */
  | { readonly kind: 'absent'; readonly data?: readonly Json[]; readonly isHidden?: boolean };

/** How a network's figures are read. Creates nothing. */
export type MetricsReader = {
  /** Of how many posts a call of `read` may ask. */
  readonly batchSize: number;
  /** How many posts may be read in a calendar month (UTC) over all accounts, where reads cost money; null is no bound. */
  readonly readsPerMonth: number | null;
  /**
   * Reads the figures of posts of the connected account.
   *
   * @param remoteIds As `send` returned them: of a thread the first part's. At most `batchSize`.
   * @returns what was said of each. A post that is missing keeps its last figures, and is asked for again.
   * @throws NetworkError, with `taken: 'no'`, when nothing was read.
   */
  read(
    connection: Connection,
    remoteIds: readonly string[],
  ): Promise<ReadonlyMap<string, PostReading>>;
  /** How many follow the account; null when the network does not tell. Left out by networks that never do. */
  followers?(connection: Connection): Promise<number | null>;
};

/**
 * What an adapter does. The ledger (`activities/publish-channel`) calls it and never calls `send` twice for a
 * part whose outcome is open.
 *
 * Every method throws `NetworkError` for what the network did or the connection to it, and nothing else on purpose.
 */
export type Network = {
  readonly id: string;
  readonly rules: Rules;
  /** `atomic`: a thread goes out in one step, all or nothing. `sequential`: a step is one part. */
  readonly threads: 'atomic' | 'sequential';
  /**
   * Computes what every try must share. May read from the network; creates nothing.
   *
   * @param before The parts of the thread before these, where those went out before the thread was lengthened.
   */
  prepare(
    connection: Connection,
    parts: readonly Part[],
    nowMs: number,
    before?: readonly PreparedPart[],
  ): Promise<PreparedPart[]>;
  /**
   * Prepares anew what certainly is not on the network, so that a post which was held back for hours is not of the time at
   * which it was first tried. Whatever keeps a second post from being made (a record key) stays. Left out by networks
   * whose prepared parts do not age.
   *
   * @param before The parts of the thread before these.
   */
  renew?(
    connection: Connection,
    parts: readonly PreparedPart[],
    nowMs: number,
    before: readonly PreparedPart[],
  ): Promise<PreparedPart[]>;
  /**
   * Brings the files of a step's parts to the network, where they are no posts yet. Called anew before every send,
   * since networks forget files that no post uses; all its failures are `taken: 'no'`. A network that takes no files
   * throws `media_refused` here: nothing is sent without its files.
   *
   * It is apart from `send` so that the time which a large file takes is over when the intent to send is written down:
   * from then on `appearsWithinMs` counts, and a worker that dies while it uploads leaves nothing open.
   *
   * Where an upload can be resumed, `connection.saveUploads` keeps what the next try needs for that before the first byte
   * goes out.
   *
   * @returns the network's name of every file, in the order of the parts and their media.
   */
  upload(connection: Connection, step: Step): Promise<readonly string[]>;
  /**
   * Creates the posts of a step. The one call that must not be repeated. Returns one entry per part.
   *
   * @param files What `upload` returned for this step just now.
   */
  send(connection: Connection, step: Step, files: readonly string[]): Promise<SentPart[]>;
  /** Looks whether the posts of a step are there, by what was prepared. Creates nothing. */
  reconcile(connection: Connection, step: Step): Promise<Finding>;
  /**
   * Whether a part that the network took can be seen. Asked after a send until it is `ready`: the channel is published
   * then and not before. Left out by networks whose posts are live once they are taken.
   *
   * @throws NetworkError `media_refused` or `content_refused` when the network gave the post up: it is not there, and a
   *   retry sends it anew. After any other failure it is asked again.
   */
  readiness?(connection: Connection, part: PreparedPart, sent: SentPart): Promise<Readiness>;
  /** Left out by networks that tell nothing of a post. */
  readonly metrics?: MetricsReader;
  /** Left out where all workspaces share no limit of the app, or none of them is limited. */
  readonly allowance?: Allowance | undefined;
};

/** How an account is connected by its tokens: `npm run admin -- channel add-…`. */
export type Connector = {
  /** What has to be said beside the secret, by name. */
  readonly options: Readonly<
    Record<string, { readonly placeholder: string; readonly required: boolean }>
  >;
  /** What the secret is called: `token`, `app-password`. It is never an option. */
  readonly secret: string;
  /** For `npm run admin`, as a sentence. */
  readonly summary: string;
  /**
   * Asks the network whose account this is. Creates nothing.
   *
   * @param values The options, and the secret by its name.
   * @throws NetworkError `access_lost` for a secret that the network does not accept.
   * @throws AppError `invalid_request` for values that are none.
   */
  readonly connect: (http: Egress, values: Readonly<Record<string, string>>) => Promise<Account>;
  /** The values that connect the sandbox's demo account. @param url Of the sandbox, without a trailing slash. */
  readonly sandbox: (url: string) => Readonly<Record<string, string>>;
};

/** All that a channel keeps of an account, as the network gave it when the account was connected. Holds secrets. */
export type Account = {
  /** May differ from the address that was asked for: a Bluesky account lives on a PDS behind its provider's address. */
  readonly baseUrl: string;
  readonly remoteId: string;
  readonly handle: string;
  /** What people call the account, as the network says it. Shown only where it is text. Left out: the network does not say. */
  readonly displayName?: unknown;
  readonly credentials: Json;
  readonly session: Json;
  readonly settings: Json;
};

/**
 * A failure of the network, or of the connection to it.
 *
 * `taken: 'no'` when the network certainly has not created the post (it refused, or no byte of the request left),
 * `taken: 'unknown'` when it may have. The default of an author who does not know is `unknown`.
 */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly code: ChannelErrorCode;
  readonly taken: 'no' | 'unknown';
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** Of `rate_limited`: what is not tried before then. The default of an author who cannot tell is the channel. */
  readonly limit: LimitScope;
  /** What it tells of the server; undefined when nothing. */
  readonly server: ServerEvidence | undefined;
  /**
   * Of a `send` that was refused because the network has an equal post: that post, where it may be what an earlier send
   * of the same part made. The ledger takes it unless another part has it.
   */
  readonly existing: readonly SentPart[] | undefined;
  /** Of an `upload`: more of its files is on the network than before, and the next try goes on there. So it is no try. */
  readonly hasProgressed: boolean;
  /** Of a refresh: there is no token that lasts, so nothing could be asked for a post. So it is no try. */
  readonly lacksToken: boolean;

  /**
   * @param message What happened, as a sentence for the user, with the network's own words where it has some, and no
   *   secret. The caller adds what follows from it.
   */
  constructor(code: ChannelErrorCode, message: string, options: NetworkErrorOptions) {
    super(message, { cause: options.cause });
    this.code = code;
    this.taken = options.taken;
    this.retryAtMs = options.retryAtMs;
    this.limit = options.limit ?? 'channel';
    this.server = options.server;
    this.existing = options.existing;
    this.hasProgressed = options.hasProgressed ?? false;
    this.lacksToken = options.lacksToken ?? false;
  }
}

/** `answered`: it answered, whatever it said. `unreachable`: it hung, or could not be connected to. */
export type ServerEvidence = 'answered' | 'unreachable';

export type NetworkErrorOptions = {
  readonly taken: 'no' | 'unknown';
  readonly retryAtMs?: number | undefined;
  readonly limit?: LimitScope;
  readonly server?: ServerEvidence;
  readonly existing?: readonly SentPart[];
  readonly hasProgressed?: boolean;
  readonly lacksToken?: boolean;
  readonly cause?: unknown;
};
