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
    /** End of the access token, if the network says it. */
    accessEndsAt: instant().strictNullable(),
    /** Time by which a person has to authorize again, if the network says it. */
    endsAt: instant().strictNullable(),
    /** Value of `endsAt` that the owner was warned of with `channel.at_risk`; null after it was extended. */
    warnedOf: instant().strictNullable(),
    /** Time since which refreshes get no response; null while they work. */
    failingSince: instant().strictNullable(),
    refreshedAt: instant().strictNullable(),
    /** End of the refresh lease. Its holder renews it, so that a dead process is noticed soon. */
    refreshingUntil: instant().strictNullable(),
    /** Id of the lease's holder; without meaning after the lease. */
    refreshingBy: p.uuid().strictNullable(),
    createdAt: createdAt(),
  },
});

/**
 * OAuth grant of a channel. Separate from the channel, so that refreshes and posts do not wait for each other's locks.
 */
export class ChannelGrant extends ChannelGrantSchema.class {}
ChannelGrantSchema.setClass(ChannelGrant);
