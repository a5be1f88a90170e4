import { Migration } from '@mikro-orm/migrations';

/** The time zone in which a post's time is shown. */
export class Migration0043PostTimezone extends Migration {
  override up(): void {
    this.addSql(`alter table "posts" add column "timezone" text null`);
  }
}
