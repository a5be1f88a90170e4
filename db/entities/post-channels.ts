import { defineEntity, p } from '@mikro-orm/core';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { PartState } from '../../domain/live-parts.ts';
import type { ChannelFile } from '../../domain/media.ts';
import type { Unpublish } from '../../domain/post-view.ts';
import type { PostWarning } from '../../domain/warnings.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';
import type { Options } from '../../networks/content-rules.ts';
import { Channel } from './channels.ts';
import { createdAt, id, instant, jsonOrNull } from './columns.ts';
import { Post } from './posts.ts';
import { Workspace } from './workspaces.ts';

export const PostChannelSchema = defineEntity({
  name: 'PostChannel',
  tableName: 'post_channels',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    postId: () => p.manyToOne(Post).mapToPk().name('post_id'),
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id'),
    /** Position among the post's channels, from 0. */
    position: p.integer(),
    /** Text for this channel instead of the post's; always a single post. */
    body: p.text().strictNullable(),
    /** Override the channel's defaults, in the shape of its network's rules. */
    options: jsonOrNull<Options>(),
    /** The channel's defaults when the post was validated. Later changes apply to other posts only. */
    defaults: jsonOrNull<Options>(),
    /** Instead of the post's, in order. Each also has a row in `post_media` with part -1, which keeps it. */
    media: jsonOrNull<readonly ChannelFile[]>(),
    /** Hash of its texts: see `hashOfTexts`. */
    textHash: p.bigint('string').nullable(),
    /** When the post was last scheduled for, or retried; null while it never had a time. */
    textDueAt: instant().nullable(),
    status: p.text().$type<ChannelStatus>(),
    url: p.text().strictNullable(),
    error: p.text().strictNullable(),
    errorCode: p.text().$type<ChannelErrorCode>().strictNullable(),
    warning: p.text().strictNullable(),
    /** The same as a list; null for a row that an older version wrote. */
    warnings: p.json<readonly PostWarning[]>().nullable(),
    retryAt: instant().strictNullable(),
    /** Start of the last attempt, by the database's clock. */
    triedAt: instant().strictNullable(),
    /** Counted attempts in this run, without waits for rate limits. */
    tries: p.integer().default(0),
    /** The published text, which later edits of the post must not change. */
    sentText: p.text().strictNullable(),
    sentWarning: p.text().strictNullable(),
    metrics: p.json<Readonly<Record<string, number>>>().strictNullable(),
    metricsUpdatedAt: instant().strictNullable(),
    /** Next read of the metrics, by the workers' clock; null for none. */
    nextMetricsAt: instant().strictNullable(),
    /** When the network first reported that the post no longer exists. */
    goneAt: instant().strictNullable(),
    publishedAt: instant().strictNullable(),
    settledAt: instant().strictNullable(),
    /** The last request to remove the post from its network. */
    unpublish: jsonOrNull<Unpublish>(),
  },
});

export class PostChannel extends PostChannelSchema.class {}
PostChannelSchema.setClass(PostChannel);

export const PostPartSchema = defineEntity({
  name: 'PostPart',
  tableName: 'post_parts',
  uniques: [
    { properties: ['postChannelId', 'run', 'part'] },
    { name: 'post_parts_one_claim_per_post', properties: ['channelId', 'remoteId'] },
  ],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** Null for a part that was or may be live when its post was deleted: no other post may claim it. */
    postChannelId: () =>
      p.manyToOne(PostChannel).mapToPk().name('post_channel_id').strictNullable(),
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id'),
    run: p.integer(),
    /** Position in the thread, from 0. */
    part: p.integer(),
    /** The same for each attempt. Sent as idempotency key to networks that accept one. */
    key: p.text(),
    state: p.text().$type<PartState>(),
    text: p.text(),
    /** Data that must not change between attempts: record keys, `createdAt`, the newest status before it. */
    remoteData: p.json<Json>(),
    remoteId: p.text().strictNullable(),
    url: p.text().strictNullable(),
    warning: p.text().strictNullable(),
    sealedUploads: p.text().strictNullable(),
    sendingAt: instant().strictNullable(),
    createdAt: createdAt(),
    /** Every writer sets it: a settlement finds the parts that it closed by this time. */
    updatedAt: createdAt(),
  },
});

/** A row of the ledger. The intent to create a post on a network is committed here before the request. */
export class PostPart extends PostPartSchema.class {}
PostPartSchema.setClass(PostPart);
