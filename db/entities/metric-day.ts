import { defineEntity, p } from '@mikro-orm/core';
import { PostChannel } from './post-channel.ts';
import { Workspace } from './workspace.ts';

export const MetricDaySchema = defineEntity({
  name: 'MetricDay',
  tableName: 'metric_days',
  properties: {
    postChannelId: () =>
      p
        .manyToOne(PostChannel)
        .mapToPk()
        .name('post_channel_id')
        .primary()
        .deleteRule('cascade')
        .updateRule('no action'),
    /** In UTC: `2027-03-01`. */
    day: p.date().primary().index('metric_days_day'),
    workspaceId: () =>
      p.manyToOne(Workspace).mapToPk().name('workspace_id').index(false).updateRule('no action'),
    metrics: p.json<Readonly<Record<string, number>>>(),
  },
});

/** Last metrics of a post's channel on a day. */
export class MetricDay extends MetricDaySchema.class {}
MetricDaySchema.setClass(MetricDay);
