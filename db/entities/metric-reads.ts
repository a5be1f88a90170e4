import { defineEntity, p } from '@mikro-orm/core';

export const MetricReadsSchema = defineEntity({
  name: 'MetricReads',
  tableName: 'metric_reads',
  properties: {
    platform: p.text().primary(),
    /** First day of the month, in UTC. */
    month: p.date().primary(),
    reads: p.integer(),
  },
});

/** Number of metric reads begun in a month, for networks that charge for them. */
export class MetricReads extends MetricReadsSchema.class {}
MetricReadsSchema.setClass(MetricReads);
