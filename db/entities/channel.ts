import { defineEntity, p } from '@mikro-orm/core';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { Workspace } from './workspace.ts';

export type ChannelState = 'connected' | 'needs_reconnect';

export const ChannelSchema = defineEntity({
  name: 'Channel',
  tableName: 'channels',
  uniques: [{ properties: ['workspaceId', 'platform', 'baseUrl', 'remoteId'] }],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** Text, not an enum: a new network needs no migration. */
    platform: p.text(),
    handle: p.text(),
    /** Display name of the account; null if the network has none. */
    displayName: p.text().strictNullable(),
    /** The account's permanent id on the network. */
    remoteId: p.text(),
    baseUrl: p.text(),
    sealedCredentials: p.text(),
    sealedSession: p.text().strictNullable(),
    state: p.text().$type<ChannelState>().default('connected'),
    /** Why the channel needs reconnecting, for its owner. */
    error: p.text().strictNullable(),
    /** End of the network's rate limit for this channel. No attempt starts before it. */
    parkedUntil: instant().strictNullable(),
    /** Last start of an overdue post, from which the next keeps its distance. By the database's clock. */
    lastLateSendAt: instant().strictNullable(),
    /** Settings of the account, including the limits of its server and the time they were requested. */
    settings: p.json<Json>(),
    /** Default options of its posts, in the shape of its network's rules. */
    options: p
      .json<Options | null>()
      .nullable()
      .onCreate(() => null),
    /**
     * Time of disconnection. The row stays without secrets for the posts that refer to it; connecting the account again
     * restores it.
     */
    disconnectedAt: instant().strictNullable(),
    /** Null if the network does not say. */
    followers: p.integer().strictNullable(),
    followersUpdatedAt: instant().strictNullable(),
    /** Time of the last `POST /channels/{id}/check`. */
    checkedAt: instant().strictNullable(),
    /** Result of that check; null while the first is running. */
    checkAnswer: p
      .json<Json | null>()
      .nullable()
      .onCreate(() => null),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

/** A connected social account. */
export class Channel extends ChannelSchema.class {}
ChannelSchema.setClass(Channel);
