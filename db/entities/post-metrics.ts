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
    /** `all`, a platform's name, or a channel's id: which of the post's channels these are the sums of. */
    scope: p.text().primary(),
    workspaceId: () =>
      p.manyToOne(Workspace).mapToPk().name('workspace_id').index(false).updateRule('no action'),
    /** When the first of them published it. */
    publishedAt: instant(),
    /** How many published it. */
    channels: p.integer(),
    /** Of how many of them nothing was read yet. */
    unread: p.integer(),
    withImpressions: p.integer(),
    impressions: sum(),
    likes: sum(),
    comments: sum(),
    shares: sum(),
    saves: sum(),
  },
});

/** The sums of a post's metrics. Kept by a trigger of `post_channels` (migration 0023) and written by nothing else. */
export class PostMetrics extends PostMetricsSchema.class {}
PostMetricsSchema.setClass(PostMetrics);
