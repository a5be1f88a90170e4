import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { Post } from './post.ts';
import { Workspace } from './workspace.ts';

const sum = () => p.bigint('number');

export const PostMetricsSchema = defineEntity({
  name: 'PostMetrics',
  tableName: 'post_metrics',
  indexes: [
    {
      name: 'post_metrics_published',
      expression: `create index "post_metrics_published" on "post_metrics" ("workspace_id", "scope", "published_at", "post_id") include ("impressions", "with_impressions", "likes", "comments", "shares", "saves", "unread", "channels")`,
    },
    {
      name: 'post_metrics_engagement',
      expression: `create index "post_metrics_engagement" on "post_metrics" ("workspace_id", "scope", ("likes" + "comments" + "shares" + "saves") desc)`,
    },
  ],
  properties: {
    postId: () =>
      p
        .manyToOne(Post)
        .mapToPk()
        .name('post_id')
        .primary()
        .deleteRule('cascade')
        .updateRule('no action'),
    /** Channels of the sums: `all`, a platform's name, or a channel's id. */
    scope: p.text().primary(),
    workspaceId: () =>
      p.manyToOne(Workspace).mapToPk().name('workspace_id').index(false).updateRule('no action'),
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

/** Sums of a post's metrics. Written only by a trigger of `post_channels` (migration 0023). */
export class PostMetrics extends PostMetricsSchema.class {}
PostMetricsSchema.setClass(PostMetrics);
