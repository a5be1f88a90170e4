import { defineEntity, p } from '@mikro-orm/core';

const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary(),
  },
});

/** One row: which database this is. A dump takes it along. */
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation);
