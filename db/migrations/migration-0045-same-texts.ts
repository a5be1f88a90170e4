import { Migration } from '@mikro-orm/migrations';

/** Finds posts with the same text on a channel at about the same time. */
export class Migration0045SameTexts extends Migration {
  override up(): void {
    this.addSql(
      `alter table "post_channels" add column "text_hash" bigint null, add column "text_due_at" timestamptz(3) null`,
    );
    this.addSql(
      `create index "post_channels_same_text" on "post_channels" ("channel_id", "text_hash", "text_due_at")
        where "text_due_at" is not null`,
    );
  }
}
