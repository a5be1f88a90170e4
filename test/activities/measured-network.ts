import type { ExecutionContext } from 'ava';
import {
  refreshMetrics,
  type RefreshRequest,
  type RefreshTimes,
} from '../../activities/refresh-metrics/refresh-metrics.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import type {
  Connection,
  MetricsReader,
  NetworkError,
  Metrics,
  PostReading,
} from '../../networks/network.ts';
import { attempt } from '../support/attempt.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';

/** A fake network that reports the metrics a test sets. */
export type MeasuredNetwork = FakeNetwork & {
  readonly metrics: MetricsReader;
  /** By the network's post id. Posts that are missing here are not reported. */
  readonly figures: Map<string, PostReading>;
  /** The ids of each call, in order. */
  readonly reads: (readonly string[])[];
  /** Called at the beginning of each read; may throw or wait. */
  onRead: (connection: Connection) => Promise<void> | void;
};

/** @param metricsEveryMs The shortest time between reads of a post. */
export function measuredNetwork(
  given: Partial<MetricsReader> = {},
  metricsEveryMs = 0,
): MeasuredNetwork {
  const figures = new Map<string, PostReading>();
  const reads: (readonly string[])[] = [];
  const metrics: MetricsReader = {
    batchSize: 10,
    readsPerMonth: null,
    read: async (connection, remoteIds) => {
      reads.push(remoteIds);
      await network.onRead(connection);
      return new Map(
        remoteIds.flatMap((id) => {
          const reading = figures.get(id);
          return reading ? [[id, reading]] : [];
        }),
      );
    },
    ...given,
  };
  const id = `measured-${crypto.randomUUID()}`;
  const fake = fakeNetwork();
  const network: MeasuredNetwork = Object.assign(fake, {
    id,
    rules: { ...fake.rules, metricsEveryMs },
    metrics,
    figures,
    reads,
    onRead: () => undefined,
  });
  return network;
}

export const read = (metrics: Metrics): PostReading => ({ kind: 'read', metrics });

/** An `onRead` that throws this error. */
export const refusing = (error: NetworkError) => () => {
  throw error;
};

export type Row = {
  readonly metrics: Metrics | null;
  readonly updatedAt: Date | null;
  readonly nextAt: Date | null;
  readonly goneAt: Date | null;
};

export type MeasuredPost = {
  readonly postId: string;
  /** The network's id of the post. */
  readonly remoteId: string;
  readonly row: () => Promise<Row>;
  /** Makes the post due for the next refresh. */
  readonly makeDue: () => Promise<void>;
  readonly days: () => Promise<{ day: string; metrics: Metrics }[]>;
};

export type MeasuredChannel = ClockedChannel & {
  readonly network: MeasuredNetwork;
  /** Publishes a post now, with these metrics on the network. */
  readonly publish: (metrics?: Metrics, channelId?: string) => Promise<MeasuredPost>;
  readonly refresh: (
    request?: Omit<RefreshRequest, 'network'>,
    by?: ActivityDeps,
    times?: RefreshTimes,
  ) => ReturnType<typeof refreshMetrics>;
};

export async function measuredChannel(
  t: ExecutionContext,
  databaseUrl: string,
  network = measuredNetwork(),
): Promise<MeasuredChannel> {
  const channel = await clockedChannel(t, network, databaseUrl);
  return {
    ...channel,
    network,
    publish: async (metrics = {}, channelId = channel.channelId) => {
      const post = await channel.newPost([crypto.randomUUID()], [], channelId);
      await post.attempt();
      const measured = await measuredPost(channel, post, channelId);
      network.figures.set(measured.remoteId, read(metrics));
      return measured;
    },
    refresh: async (request = {}, by = channel.deps, times = undefined) => {
      const activity = (deps: ActivityDeps, given: RefreshRequest) =>
        times ? refreshMetrics(deps, given, times) : refreshMetrics(deps, given);
      const done = await attempt(activity, by, { network: network.id, ...request });
      if (done.kind !== 'done') {
        throw new Error(`A refresh asks for no retry: ${done.code}`);
      }

      const { kind: _, ...counts } = done;
      return counts;
    },
  };
}

async function measuredPost(
  { deps }: ClockedChannel,
  { postId, row }: ClaimedPost,
  channelId: string,
): Promise<MeasuredPost> {
  const run = <T>(sql: string, values: readonly unknown[]): Promise<T[]> =>
    deps.orm.em.fork().execute<T[]>(sql, values);
  const { id } = await row();
  const [part] = await run<{ remote_id: string }>(
    `select remote_id from post_parts where post_channel_id = ? and channel_id = ? and part = 0`,
    [id, channelId],
  );
  return {
    postId,
    remoteId: part?.remote_id ?? '',
    row: async () => {
      const { metrics, metricsUpdatedAt, nextMetricsAt, goneAt } = await row();
      return { metrics, updatedAt: metricsUpdatedAt, nextAt: nextMetricsAt, goneAt };
    },
    makeDue: async () => {
      await run(`update post_channels set next_metrics_at = ? where id = ?`, [deps.now(), id]);
    },
    days: () =>
      run(`select day::text, metrics from metric_days where post_channel_id = ? order by day`, [
        id,
      ]),
  };
}
