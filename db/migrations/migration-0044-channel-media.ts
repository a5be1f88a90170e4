import { Migration } from '@mikro-orm/migrations';

/** Files of a post for one channel. */
export class Migration0044ChannelMedia extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "media" jsonb null`);
  }
}
