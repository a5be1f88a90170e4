import { defineEntity, p } from '@mikro-orm/core';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import type { Options } from '../../networks/content-rules.ts';
import { Channel } from './channel.ts';
import { id, instant } from './columns.ts';
import { Post } from './post.ts';
import { Workspace } from './workspace.ts';

export const PostChannelSchema = defineEntity({
  name: 'PostChannel',
  tableName: 'post_channels',
  uniques: [{ properties: ['postId', 'channelId'] }],
  indexes: [
    {
      name: 'post_channels_open',
      expression: `create index "post_channels_open" on "post_channels" ("channel_id") where "status" in ('scheduled', 'publishing', 'retrying')`,
    },
    {
      name: 'post_channels_being_sent',
      expression: `create index "post_channels_being_sent" on "post_channels" ("post_id") where "status" in ('publishing', 'retrying')`,
    },
    {
      name: 'post_channels_unconfirmed',
      expression: `create index "post_channels_unconfirmed" on "post_channels" ("post_id") where "status" = 'unconfirmed'`,
    },
    {
      name: 'post_channels_published',
      expression: `create index "post_channels_published" on "post_channels" ("channel_id", "published_at") where "status" = 'published'`,
    },
    {
      name: 'post_channels_metrics_due',
      expression: `create index "post_channels_metrics_due" on "post_channels" ("next_metrics_at") where "next_metrics_at" is not null`,
    },
    {
      name: 'post_channels_settled',
      expression: `create index "post_channels_settled" on "post_channels" ("channel_id") where "settled_at" is not null`,
    },
    {
      name: 'post_channels_access_lost',
      expression: `create index "post_channels_access_lost" on "post_channels" ("channel_id") where "status" = 'failed' and "error_code" = 'access_lost'`,
    },
  ],
  triggers: [
    {
      name: 'post_channels_metrics',
      timing: 'after',
      events: ['insert', 'update', 'delete'],
      expression: 'migration 0023 creates it, with the function `sum_post_metrics`',
    },
  ],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    postId: () => p.manyToOne(Post).mapToPk().name('post_id'),
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').index(),
    /** Position among the post's channels, from 0. */
    position: p.integer(),
    /** Text for this channel instead of the post's; always a single post. */
    body: p.text().strictNullable(),
    /** Override the channel's defaults, in the shape of its network's rules. */
    options: p
      .json<Options | null>()
      .nullable()
      .onCreate(() => null),
    /** The channel's defaults when the post was validated. Later changes apply to other posts only. */
    defaults: p
      .json<Options | null>()
      .nullable()
      .onCreate(() => null),
    status: p.text().$type<ChannelStatus>(),
    url: p.text().strictNullable(),
    error: p.text().strictNullable(),
    errorCode: p.text().$type<ChannelErrorCode>().strictNullable(),
    warning: p.text().strictNullable(),
    retryAt: instant().strictNullable(),
    /** Start of the last attempt, by the database's clock. */
    triedAt: instant().strictNullable(),
    /** Counted attempts in this run, without waits for rate limits. */
    tries: p.integer().default(0),
    /** The published text, which later edits of the post must not change. */
    sentText: p.text().strictNullable(),
    /** Warning about the published post. */
    sentWarning: p.text().strictNullable(),
    metrics: p.json<Readonly<Record<string, number>>>().strictNullable(),
    /** When `metrics` were last read from the network. */
    metricsUpdatedAt: instant().strictNullable(),
    /** Next read of the metrics, by the workers' clock; null for none. */
    nextMetricsAt: instant().strictNullable(),
    /** Time at which the network first reported that the post no longer exists. */
    goneAt: instant().strictNullable(),
    publishedAt: instant().strictNullable(),
    /** Time at which the unconfirmed channel was settled. */
    settledAt: instant().strictNullable(),
  },
});

/** A post on one channel. */
export class PostChannel extends PostChannelSchema.class {}
PostChannelSchema.setClass(PostChannel);
