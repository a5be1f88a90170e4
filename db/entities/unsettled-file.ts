import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const UnsettledFileSchema = defineEntity({
  name: 'UnsettledFile',
  tableName: 'unsettled_files',
  properties: {
    /** The key in the storage, and the id that its row has or would have had. */
    id: p.uuid().primary(),
    /** By the database's clock: when it was about to be stored, or its removal was last tried. */
    notedAt: instant(),
    /** It is decided that no row of the library leads to it, now or later, and its bytes are to be removed. */
    isLost: p.boolean(),
  },
});

/**
 * A file of the storage that belongs to nobody: none yet, or none any more. The transaction that makes or deletes the
 * file's row in the library also takes this row away or makes it, so at any moment each stored file has one of both.
 */
export class UnsettledFile extends UnsettledFileSchema.class {}
UnsettledFileSchema.setClass(UnsettledFile);
