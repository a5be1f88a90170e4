import { defineEntity, p } from '@mikro-orm/core';

export const SweepPositionSchema = defineEntity({
  name: 'SweepPosition',
  tableName: 'sweep_positions',
  properties: {
    /** What is swept. */
    sweep: p.text().primary(),
    /** Where the next sweep goes on; without a row it begins anew. */
    position: p.text(),
  },
});

/** How far a sweep came that looks at a part of something large each time. */
export class SweepPosition extends SweepPositionSchema.class {}
SweepPositionSchema.setClass(SweepPosition);
