import { defineEntity, p } from '@mikro-orm/core';

export const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary(),
    /** The name of the SECRET_KEY that the secrets are sealed under; null until the first process comes. */
    sealedBy: p.text().strictNullable(),
  },
});

/** One row: which database this is. A dump takes it along. */
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation);
