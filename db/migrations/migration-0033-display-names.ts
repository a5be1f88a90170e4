import { Migration } from '@mikro-orm/migrations';

/** What people call an account. Null for channels that were connected before: it comes with the next check. */
export class Migration0033DisplayNames extends Migration {
  override up(): void {
    this.addSql(`alter table "channels" add column "display_name" text null`);
  }
}
