import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { PostChannel } from './post-channels.ts';
import { Post } from './posts.ts';
import { Workspace } from './workspaces.ts';

const sum = () => p.bigint('number');

/** Sums of a post's metrics, written by `db/sum-metrics.ts`. */
export const PostMetricsSchema = defineEntity({
  name: 'PostMetrics',
  tableName: 'post_metrics',
  properties: {
    postId: () => p.manyToOne(Post).mapToPk().name('post_id').primary(),
    /** Channels of the sums: `all`, a platform's name, or a channel's id. */
    scope: p.text().primary(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** First publication among these channels. */
    publishedAt: instant(),
    /** Number of channels that published it. */
    channels: p.integer(),
    /** Number of channels without metrics yet. */
    unread: p.integer(),
    withImpressions: p.integer(),
    impressions: sum(),
    likes: sum(),
    comments: sum(),
    shares: sum(),
    saves: sum(),
  },
});

/** Last metrics of a post's channel on a day. */
export const MetricDaySchema = defineEntity({
  name: 'MetricDay',
  tableName: 'metric_days',
  properties: {
    postChannelId: () => p.manyToOne(PostChannel).mapToPk().name('post_channel_id').primary(),
    /** In UTC: `2027-03-01`. */
    day: p.date().primary(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    metrics: p.json<Readonly<Record<string, number>>>(),
  },
});

/** Number of metric reads begun in a month, for networks that charge for them. */
export const MetricReadsSchema = defineEntity({
  name: 'MetricReads',
  tableName: 'metric_reads',
  properties: {
    platform: p.text().primary(),
    /** First day of the month, in UTC. */
    month: p.date().primary(),
    reads: p.integer(),
  },
});
