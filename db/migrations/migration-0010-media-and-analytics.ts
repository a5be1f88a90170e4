import { Migration } from '@mikro-orm/migrations';

/** Unclaimed files, the progress of the storage check, and an index of publications by channel. */
export class Migration0010MediaAndAnalytics extends Migration {
  override up(): void {
    this.addSql(
      `create table "unsettled_files" (
        "id" uuid not null,
        "noted_at" timestamptz(3) not null,
        "is_lost" boolean not null,
        primary key ("id")
      )`,
    );
    this.addSql(
      `create table "sweep_positions" (
        "sweep" text not null,
        "position" text not null,
        primary key ("sweep")
      )`,
    );
    this.addSql(
      `create index "post_channels_published"
        on "post_channels" ("channel_id", "published_at") where "status" = 'published'`,
    );
  }
}
