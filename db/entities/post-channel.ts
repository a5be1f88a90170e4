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
    /** The order in which the channels were given, from 0. */
    position: p.integer(),
    /** The text for this channel instead of the post's; one single post. */
    body: p.text().strictNullable(),
    /** Instead of the channel's defaults, in the shape that its network's rules name. */
    options: p
      .json<Options | null>()
      .nullable()
      .onCreate(() => null),
    /** The channel's defaults as the post was judged with them: what becomes of those later is for other posts. */
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
    /** When its last try began. By the database's clock. */
    triedAt: instant().strictNullable(),
    /** Tries that counted, in this run: waits imposed by a rate limit do not. */
    tries: p.integer().default(0),
    /** The text that went out, as a later edit of the post must not change what this says. */
    sentText: p.text().strictNullable(),
    /** What became of it otherwise than its owner may think, once it was published. */
    sentWarning: p.text().strictNullable(),
    metrics: p.json<Readonly<Record<string, number>>>().strictNullable(),
    /** When `metrics` were last read from the network. */
    metricsUpdatedAt: instant().strictNullable(),
    /** When they are read again; null when they are not. By the workers' clock. */
    nextMetricsAt: instant().strictNullable(),
    /** When the network first said that the post is not there any more. */
    goneAt: instant().strictNullable(),
    publishedAt: instant().strictNullable(),
    /** When a person said what became of it: until then it was unconfirmed. */
    settledAt: instant().strictNullable(),
  },
});

/** What becomes of a post on one channel. */
export class PostChannel extends PostChannelSchema.class {}
PostChannelSchema.setClass(PostChannel);
