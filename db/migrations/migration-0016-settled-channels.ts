import { Migration } from '@mikro-orm/migrations';

/** Index of the few settled channels: a reconcile checks whether a post it found was settled as another one. */
export class Migration0016SettledChannels extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_channels_settled"
         on "post_channels" ("channel_id") where "settled_at" is not null`,
    );
  }
}
