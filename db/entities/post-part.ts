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
    /** Place in the thread, from 0. */
    part: p.integer(),
    /** The same on every try; sent to networks that take one. */
    key: p.text(),
    state: p.text().$type<PartState>(),
    text: p.text(),
    /** What must not change between tries: record keys, `createdAt`, the newest status before. */
    remoteData: p.json<Json>(),
    remoteId: p.text().strictNullable(),
    url: p.text().strictNullable(),
    /** What became of it otherwise than its owner may think. */
    warning: p.text().strictNullable(),
    /** What a try kept of its files that are on their way. */
    sealedUploads: p.text().strictNullable(),
    /** When the last send began. */
    sendingAt: instant().strictNullable(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

/** The ledger: the intent to create one post on a network is committed here before the network hears of it. */
export class PostPart extends PostPartSchema.class {}
PostPartSchema.setClass(PostPart);
