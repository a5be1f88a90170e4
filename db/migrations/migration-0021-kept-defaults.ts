import { Migration } from '@mikro-orm/migrations';

/** A post stores the channel defaults that it was validated with. */
export class Migration0021KeptDefaults extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "defaults" jsonb null`);
    this.addSql(
      `update "post_channels" pc set "defaults" = c."options" from "channels" c
        where c."id" = pc."channel_id" and c."options" is not null and pc."status" <> 'published'`,
    );
    // They count as text of their posts, so texts are counted again at the next change of a post.
    this.addSql(`delete from "quota_shares"`);
  }
}
