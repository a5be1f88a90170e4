import { Migration } from '@mikro-orm/migrations';

/** What a person settled, of which there is little: a look asks whether what it found was settled as another post. */
export class Migration0016SettledChannels extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_channels_settled"
         on "post_channels" ("channel_id") where "settled_at" is not null`,
    );
  }
}
