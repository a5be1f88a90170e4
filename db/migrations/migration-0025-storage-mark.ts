import { Migration } from '@mikro-orm/migrations';

/** Time at which the media storage was marked as this database's; null before the first API process. */
export class Migration0025StorageMark extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "storage_marked_at" timestamptz(3) null`);
  }
}
