import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const UnsettledFileSchema = defineEntity({
  name: 'UnsettledFile',
  tableName: 'unsettled_files',
  properties: {
    /** Key in the storage, and id of its (possible) row in the library. */
    id: p.uuid().primary(),
    /** By the database's clock. Time at which its storing began, or of the last attempt to remove it. */
    notedAt: instant(),
    /** No row of the library will refer to it, and its bytes are to be removed. */
    isLost: p.boolean(),
  },
});

/**
 * An unclaimed file of the storage: not yet or no longer in the library. The transaction that inserts or deletes the
 * file's row in the library deletes or inserts this row, so each stored file always has exactly one of both.
 */
export class UnsettledFile extends UnsettledFileSchema.class {}
UnsettledFileSchema.setClass(UnsettledFile);
