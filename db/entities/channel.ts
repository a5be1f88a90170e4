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
    /** What people call the account, where its network says. */
    displayName: p.text().strictNullable(),
    /** The account's permanent id on the network. */
    remoteId: p.text(),
    baseUrl: p.text(),
    sealedCredentials: p.text(),
    sealedSession: p.text().strictNullable(),
    state: p.text().$type<ChannelState>().default('connected'),
    /** Why the channel needs reconnecting, for its owner. */
    error: p.text().strictNullable(),
    /** No post of this channel is tried before this instant: the network said so. */
    parkedUntil: instant().strictNullable(),
    /** When an overdue post was last let through: the next one keeps its distance. By the database's clock. */
    lastLateSendAt: instant().strictNullable(),
    /** What holds for this account: among it what its server told last of its limits, and when it was asked. */
    settings: p.json<Json>(),
    /** Defaults for its posts, in the shape that its network's rules name. */
    options: p
      .json<Options | null>()
      .nullable()
      .onCreate(() => null),
    /**
     * When its owner disconnected it. The row stays, without secrets, for the posts that it has; connecting the account
     * again brings it back.
     */
    disconnectedAt: instant().strictNullable(),
    /** Of the account, where its network tells. */
    followers: p.integer().strictNullable(),
    followersUpdatedAt: instant().strictNullable(),
    /** When its network was last asked, by `POST /channels/{id}/check`, whether the account can be entered. */
    checkedAt: instant().strictNullable(),
    /** What it said; null while the first check is under way. */
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
