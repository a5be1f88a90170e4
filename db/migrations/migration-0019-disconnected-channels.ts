import { Migration } from '@mikro-orm/migrations';

/** Disconnected channels, whose rows stay for their posts, and an index of channels that failed with lost access. */
export class Migration0019DisconnectedChannels extends Migration {
  override up(): void {
    this.addSql(`alter table "channels" add column "disconnected_at" timestamptz(3) null`);
    this.addSql(
      `create index "post_channels_access_lost" on "post_channels" ("channel_id") where "status" = 'failed' and "error_code" = 'access_lost'`,
    );
  }
}
