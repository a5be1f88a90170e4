import { defineEntity, p } from '@mikro-orm/core';
import type { Json } from '../../domain/json-schema.ts';
import { Channel } from './channel.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { PostChannel } from './post-channel.ts';
import type { PartState } from '../ledger/part-states.ts';
import { Workspace } from './workspace.ts';

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
    postChannelId: () => p.manyToOne(PostChannel).mapToPk().name('post_channel_id'),
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
    /** Warning about the published part. */
    warning: p.text().strictNullable(),
    /** State of unfinished uploads. */
    sealedUploads: p.text().strictNullable(),
    /** Start of the last send. */
    sendingAt: instant().strictNullable(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

/** A row of the ledger. The intent to create a post on a network is committed here before the request. */
export class PostPart extends PostPartSchema.class {}
PostPartSchema.setClass(PostPart);
