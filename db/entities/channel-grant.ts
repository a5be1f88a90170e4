import { defineEntity, p } from '@mikro-orm/core';
import { Channel } from './channel.ts';
import { createdAt, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

export const ChannelGrantSchema = defineEntity({
  name: 'ChannelGrant',
  tableName: 'channel_grants',
  indexes: [
    {
      name: 'channel_grants_ending',
      expression: `create index "channel_grants_ending" on "channel_grants" ("ends_at") where "ends_at" is not null`,
    },
  ],
  properties: {
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').primary(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    sealedGrant: p.text(),
    /** When the access token ends, as far as the network says. */
    accessEndsAt: instant().strictNullable(),
    /** When a person has to authorize again, as far as the network says. */
    endsAt: instant().strictNullable(),
    /** The end that the owner was warned of by `channel.at_risk`; null again once it was put off. */
    warnedOf: instant().strictNullable(),
    /** Since when refreshes fail for want of an answer; null while they work. */
    failingSince: instant().strictNullable(),
    refreshedAt: instant().strictNullable(),
    /** Until when no other process refreshes it: whoever does so renews this, so that a dead one is noticed soon. */
    refreshingUntil: instant().strictNullable(),
    /** Whose turn that is; it means nothing once the turn is over. */
    refreshingBy: p.uuid().strictNullable(),
    createdAt: createdAt(),
  },
});

/**
 * What a network handed out for a channel that was connected in a browser. It is apart from the channel so that refreshes
 * and posts do not wait for each other's locks.
 */
export class ChannelGrant extends ChannelGrantSchema.class {}
ChannelGrantSchema.setClass(ChannelGrant);
