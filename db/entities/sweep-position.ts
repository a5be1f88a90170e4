import { defineEntity, p } from '@mikro-orm/core';

export const SweepPositionSchema = defineEntity({
  name: 'SweepPosition',
  tableName: 'sweep_positions',
  properties: {
    /** Name of the sweep. */
    sweep: p.text().primary(),
    /** Start of the next sweep. Without a row it starts from the beginning. */
    position: p.text(),
  },
});

/** Progress of a sweep that checks part of a large set each time. */
export class SweepPosition extends SweepPositionSchema.class {}
SweepPositionSchema.setClass(SweepPosition);
