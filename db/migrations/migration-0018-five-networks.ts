import { Migration } from '@mikro-orm/migrations';

/** Alt texts, files for each part of a thread, options of channels, and warnings about published posts. */
export class Migration0018FiveNetworks extends Migration {
  override up(): void {
    this.addSql(`alter table "media_files" add column "alt_text" text null`);
    this.addSql(
      `alter table "post_media" add column "part" int not null default 0, add column "alt_text" text null`,
    );
    this.addSql(`alter table "post_media" drop constraint "post_media_pkey"`);
    this.addSql(
      `alter table "post_media" add constraint "post_media_pkey" primary key ("post_id", "media_id", "part")`,
    );
    this.addSql(
      `alter table "post_channels" add column "options" jsonb null, add column "sent_warning" text null`,
    );
    this.addSql(`alter table "channels" add column "options" jsonb null`);
    this.addSql(
      `alter table "post_parts" add column "sealed_uploads" text null, add column "warning" text null`,
    );
  }
}
