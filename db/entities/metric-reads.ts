import { defineEntity, p } from '@mikro-orm/core';

export const MetricReadsSchema = defineEntity({
  name: 'MetricReads',
  tableName: 'metric_reads',
  properties: {
    platform: p.text().primary(),
    /** Its first day, in UTC. */
    month: p.date().primary(),
    reads: p.integer(),
  },
});

/** How many reads of metrics were begun in a month, of networks that charge for them. */
export class MetricReads extends MetricReadsSchema.class {}
MetricReadsSchema.setClass(MetricReads);
