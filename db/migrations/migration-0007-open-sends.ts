import { Migration } from '@mikro-orm/migrations';

/** Index for the sweep: channels that are being sent, of which there are few at any time. */
export class Migration0007OpenSends extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_channels_being_sent"
         on "post_channels" ("post_id") where "status" in ('publishing', 'retrying')`,
    );
  }
}
