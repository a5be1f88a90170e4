import { ask } from '../../db/ask.ts';
import { lateAfterMs } from '../../domain/pacing.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { isFinal, type ChannelStatus, type PostStatus } from '../../domain/post-status.ts';
import { textsForChannel } from '../../domain/texts.ts';
import type { PartMedia } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  accountColumns,
  accountOf,
  type AccountRow,
  type SealedAccount,
} from './sealed-account.ts';
import { beginOnTime } from './begin.ts';
import { entriesOf, isOpen, ledgerRows, type Entry, type LedgerRow } from './ledger.ts';
import { mediaColumn, mediaOf, type MediaRow } from './media.ts';
import { parkColumns, parkJoins, parkOf, type Park, type ParkRow } from './park.ts';
import {
  circuitJoin,
  makePlaces,
  placeColumns,
  serverOf,
  takePlace,
  type PlaceRow,
  type Server,
} from './server-place.ts';

export type PublishRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

/** All that a try needs to know of its post and its channel, read afresh at each try. */
export type PublishTarget = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
  readonly channelId: string;
  readonly platform: string;
  /** Of the channel's server. */
  readonly baseUrl: string;
  readonly run: number;
  /** Whether the post was publishing when its texts and files were read: before that they may still be edited. */
  readonly isPublishing: boolean;
  /**
   * The post was cancelled while this channel was being sent, and part of it is on the network or may be: that is looked
   * for, and the rest of a thread sent.
   */
  readonly isFinishing: boolean;
  /** A part may be on the network, and nobody knows. */
  readonly isInDoubt: boolean;
  /** Of the post at that moment. */
  readonly revision: number;
  /** How often this channel was tried in this run, waits imposed by rate limits not counted. */
  readonly tries: number;
  /** From when the channel has a day: the post's time, or that of the last retry; of a cancelled post its first send. */
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** What goes out, in order; one text for a single post. */
  readonly texts: readonly string[];
  /** The files of the first text. */
  readonly media: readonly PartMedia[];
  /** What the channel is opened with. */
  readonly account: SealedAccount;
  /** The rate limit that lasts longest; it may be over. */
  readonly park: Park | null;
  /** The channel's server, at which the try has a place or waits for one. */
  readonly server: Server;
  /** When the try has begun already: the ledger as it was then. */
  readonly begun: readonly Entry[] | null;
};

type Row = ParkRow &
  PlaceRow &
  AccountRow & {
    channel_id: string;
    platform: string;
    run: number;
    revision: number;
    tries: number;
    post_status: PostStatus;
    due_at: string | Date | null;
    status: ChannelStatus;
    error_code: ChannelErrorCode | null;
    override: string | null;
    body: string | null;
    thread: readonly string[] | null;
    media: readonly MediaRow[] | null;
    has_begun: boolean;
    ledger: readonly LedgerRow[] | null;
  };

/**
 * Reads what goes out, and where nothing speaks against it (the post is on time, and no rate limit lasts) begins the try
 * with the same statement: see `begin`. Whoever gets a target that holds a place at its server gives it back.
 *
 * @returns null when the post or the channel is gone, or has no time.
 */
export async function loadTarget(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishTarget | null> {
  const row = await readRow(deps, request);
  if (!row || row.has_places || isFinal(row.status)) {
    return row ? targetOf(deps, request, row) : null;
  }

  await makePlaces(deps, request);
  const again = await readRow(deps, request);
  return again ? targetOf(deps, request, again) : null;
}

async function readRow(
  deps: ActivityDeps,
  { workspaceId, postId, postChannelId }: PublishRequest,
): Promise<Row | undefined> {
  const [row] = await ask<Row>(
    deps.orm.em.fork(),
    `with ${takePlace},
     ${beginOnTime}
     select pc.channel_id, c.platform, ${accountColumns}, p.run, p.revision, pc.tries, pc.status, pc.error_code, p.status as post_status,
       coalesce(p.retried_at, p.scheduled_at) as due_at, pc.body as override, p.body, p.thread, ${parkColumns},
       ${placeColumns},
       ${mediaColumn}, exists (select 1 from begun) as has_begun,
       (select json_agg(ledger order by part) from (${ledgerRows('p.run')}) ledger) as ledger
     from post_channels pc
     join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
     join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
     ${parkJoins} ${circuitJoin}
     where pc.id = $1 and pc.post_id = $3 and pc.workspace_id = $2`,
    [postChannelId, workspaceId, postId, deps.now(), new Date(deps.now().getTime() - lateAfterMs)],
  );
  return row;
}

function targetOf(deps: ActivityDeps, request: PublishRequest, row: Row): PublishTarget {
  const threads = deps.networks[row.platform]?.rules.threads ?? true;
  const texts = textsForChannel(row, row.override, threads);
  const media = mediaOf(deps, row.media);
  const ledger = entriesOf(media, row.ledger ?? []);
  const isBeingSent = row.status === 'publishing' || row.status === 'retrying';
  const isFinishing =
    row.post_status === 'draft' &&
    isBeingSent &&
    ledger.some((entry) => entry.state === 'sent' || isOpen(entry));
  return {
    ...request,
    channelId: row.channel_id,
    platform: row.platform,
    baseUrl: row.base_url,
    run: row.run,
    isPublishing: row.post_status === 'publishing',
    isFinishing,
    isInDoubt: ledger.some(isOpen),
    revision: row.revision,
    tries: row.tries,
    dueAt: row.due_at === null ? (firstSendOf(ledger) ?? deps.now()) : new Date(row.due_at),
    status: row.status,
    errorCode: row.error_code,
    texts: texts.length > 0 ? texts : [''],
    media,
    account: accountOf(row),
    park: parkOf(row),
    server: serverOf(row),
    begun: row.has_begun ? ledger : null,
  };
}

function firstSendOf(ledger: readonly Entry[]): Date | undefined {
  const times = ledger.flatMap(({ sendingAt }) => sendingAt ?? []);
  return times.toSorted((a, b) => a.getTime() - b.getTime())[0];
}
