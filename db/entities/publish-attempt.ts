import { defineEntity, p } from '@mikro-orm/core';
import type { Json } from '../../networks/network.ts';
import { Channel } from './channel.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { PostChannel } from './post-channel.ts';
import { Workspace } from './workspace.ts';

/**
 * `ready`: nothing was sent. `sending`: a request may have left; ask the network before anything else.
 * `unknown`: the network could not tell either.
 */
export const attemptStates = ['ready', 'sending', 'sent', 'refused', 'unknown'] as const;
export type AttemptState = (typeof attemptStates)[number];

export const PublishAttemptSchema = defineEntity({
  name: 'PublishAttempt',
  tableName: 'publish_attempts',
  uniques: [
    { properties: ['postChannelId', 'run', 'part'] },
    { name: 'publish_attempts_one_claim_per_post', properties: ['channelId', 'remoteId'] },
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
    state: p.text().$type<AttemptState>(),
    text: p.text(),
    /** SHA-256 of the text, in hex. */
    contentHash: p.text(),
    /** What must not change between tries: record keys, `createdAt`, the newest status before. */
    remoteData: p.json<Json>(),
    remoteId: p.text().strictNullable(),
    url: p.text().strictNullable(),
    /** When the last send began. */
    sendingAt: instant().strictNullable(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

/** The ledger: the intent to create one post on a network is committed here before the network hears of it. */
export class PublishAttempt extends PublishAttemptSchema.class {}
PublishAttemptSchema.setClass(PublishAttempt);
