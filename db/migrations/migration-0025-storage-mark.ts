import { Migration } from '@mikro-orm/migrations';

/** When the media storage of this database was marked as its own; null before the first API process. */
export class Migration0025StorageMark extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "storage_marked_at" timestamptz(3) null`);
  }
}
