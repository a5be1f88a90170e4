import { Migration } from '@mikro-orm/migrations';

/** Display names of accounts; null for channels connected before, until the next check. */
export class Migration0033DisplayNames extends Migration {
  override up(): void {
    this.addSql(`alter table "channels" add column "display_name" text null`);
  }
}
