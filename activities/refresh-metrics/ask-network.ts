import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { serverWaitMs } from '../../domain/pacing.ts';
import { NetworkError, type Connection, type MetricsReader } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import {
  accountColumns,
  classifyTokenRefusal,
  openConnection,
  openedGrant,
  type ChannelAccount,
} from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

type Asking = {
  readonly deps: ActivityDeps;
  readonly stopped: AbortSignal;
  readonly askTimeoutMs: number;
  /** In milliseconds since 1970, for a call on request, which needs a slot at its server; otherwise null. */
  readonly requestedAtMs: number | null;
};

export type RefreshContext = Asking & {
  readonly reader: MetricsReader;
  /** Shortest interval between reads of a post, in milliseconds. */
  readonly everyMs: number;
  /** Whether the time is up and no read may begin. */
  readonly isOver: () => boolean;
  readonly counts: RefreshCounts;
};

export type RefreshCounts = {
  read: number;
  gone: number;
  /** Not readable now: a rate limit, a channel without access, or a network that is read less often. */
  postponed: number;
  /** The network returned no metrics. They are read again later. */
  failed: number;
  /** Due, but the time was up. */
  left: number;
};

export type ReadAccount = ChannelAccount & {
  /** Last read of the followers; null if never. */
  readonly followersUpdatedAt: Date | null;
};

/** @returns null if the channel has no access. */
export async function loadAccount(
  { orm }: Pick<ActivityDeps, 'orm'>,
  workspaceId: string,
  channelId: string,
): Promise<ReadAccount | null> {
  const [account] = await query(
    orm.em.fork(),
    sql<ReadAccount>`select ${accountColumns}, c.followers_updated_at as "followersUpdatedAt"
      from channels c left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${channelId} and c.workspace_id = ${workspaceId}
        and c.disconnected_at is null and c.state = 'connected'`,
  );
  return account ?? null;
}

/** The part of a server's slots that calls on request may take, so that posts find a free one. */
const partOfSlots = 1 / 2;

/** @throws NetworkError, `paced` without a slot. @throws NewTokenError if the channel has a newer access token. */
export async function askNetwork<T>(
  asking: Asking,
  account: ChannelAccount,
  ask: (connection: Connection) => T | Promise<T>,
): Promise<T> {
  const { deps, requestedAtMs } = asking;
  if (requestedAtMs === null) {
    return connectAndAsk(asking, account, ask);
  }

  const nowMs = deps.now().getTime();
  const slot = deps.limits.servers.enter(account, nowMs, partOfSlots);
  try {
    if (slot.busy) {
      const retryAtMs = nowMs + serverWaitMs(slot.busy, nowMs - requestedAtMs, Math.random());
      const message = `Nothing was sent: ${account.baseUrl} does not answer, or the limit of concurrent requests to it, or of this workspace to the network, is reached.`;
      throw new NetworkError('paced', message, { accepted: 'no', retryAtMs });
    }

    const answer = await connectAndAsk(asking, account, ask);
    slot.saw('answered', deps.now().getTime());
    return answer;
  } finally {
    slot.leave();
  }
}

async function connectAndAsk<T>(
  { deps, stopped, askTimeoutMs }: Asking,
  account: ChannelAccount,
  ask: (connection: Connection) => T | Promise<T>,
): Promise<T> {
  const current = await openedGrant(deps, account);
  const connection = openConnection(deps, account, {
    grant: current?.grant ?? null,
    signal: AbortSignal.any([stopped, AbortSignal.timeout(askTimeoutMs)]),
    uploadsOf: () => null,
    saveUploads: async () => undefined,
    mayCreate: () => false,
  });
  try {
    return await ask(connection);
  } catch (error) {
    throw await classifyTokenRefusal(deps, account, current, error);
  }
}

/** Interval between reads of a channel's followers, in milliseconds. */
const followersEveryMs = 24 * 3_600_000;

/** The largest `integer` of PostgreSQL. */
const mostFollowers = 2 ** 31 - 1;

/** Reads a channel's followers once a day, after its posts. A failed read is repeated with the next posts. */
export async function readFollowers(
  refreshing: RefreshContext,
  account: ReadAccount,
): Promise<void> {
  const { deps, reader } = refreshing;
  const { workspaceId, channelId, followersUpdatedAt } = account;
  const askedAt = deps.now();
  const { followers } = reader;
  const isKnown =
    followersUpdatedAt !== null &&
    askedAt.getTime() - followersUpdatedAt.getTime() < followersEveryMs;
  if (followers === undefined || isKnown) {
    return;
  }

  try {
    const answer = await askNetwork(
      refreshing,
      account,
      (connection) => reader.followers?.(connection) ?? null,
    );
    const count =
      Number.isSafeInteger(answer) && Number(answer) >= 0
        ? Math.min(Number(answer), mostFollowers)
        : null;
    await query(
      deps.orm.em.fork(),
      sql`update channels set followers = ${count}::int, followers_updated_at = ${askedAt}
        where id = ${channelId} and workspace_id = ${workspaceId}
          and (followers_updated_at is null or followers_updated_at < ${askedAt})`,
    );
  } catch (error) {
    deps.log.info(
      { channel: channelId, error: describeError(error) },
      'could not read followers of a channel',
    );
  }
}
