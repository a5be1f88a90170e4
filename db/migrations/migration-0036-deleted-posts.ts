import { Migration } from '@mikro-orm/migrations';

/**
 * Lets posts be deleted. The ledger keeps their live parts without a channel of a post, and an idempotency key outlives
 * its post for a day. Keys of other calls have no post; they keep their answer for a day.
 */
export class Migration0036DeletedPosts extends Migration {
  override up(): void {
    this.addSql(
      `alter table "post_parts" alter column "post_channel_id" drop not null,
        drop constraint "post_parts_post_channel_id_foreign",
        add constraint "post_parts_post_channel_id_foreign" foreign key ("post_channel_id")
          references "post_channels" ("id") on delete set null`,
    );
    this.addSql(
      `alter table "idempotency_keys" alter column "post_id" drop not null,
        drop constraint "idempotency_keys_post_id_foreign",
        add column "sealed_answer" text null, add column "expires_at" timestamptz(3) null`,
    );
    this.addSql(
      `create index "idempotency_keys_expiring" on "idempotency_keys" ("expires_at") where "expires_at" is not null`,
    );
    // A post finds its key when it is deleted.
    this.addSql(`create index "idempotency_keys_post_id_index" on "idempotency_keys" ("post_id")`);
  }
}
