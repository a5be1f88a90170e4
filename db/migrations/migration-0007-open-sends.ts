import { Migration } from '@mikro-orm/migrations';

/** What the sweep looks through for channels that are being sent under a post that was cancelled: few at any time. */
export class Migration0007OpenSends extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_channels_being_sent"
         on "post_channels" ("post_id") where "status" in ('publishing', 'retrying')`,
    );
  }
}
