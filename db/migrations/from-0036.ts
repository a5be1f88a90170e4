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

/** Posts can be removed from their networks. */
export class Migration0037Unpublish extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "unpublish" jsonb null`);
    this.addSql(
      `create table "unpublish_requests" ("post_id" uuid not null, "workspace_id" uuid not null, "sync_at" timestamptz(3) not null,
        constraint "unpublish_requests_pkey" primary key ("post_id"))`,
    );
    this.addSql(
      `create index "unpublish_requests_sync_at_index" on "unpublish_requests" ("sync_at")`,
    );
    this.addSql(
      `alter table "unpublish_requests" add constraint "unpublish_requests_post_id_foreign" foreign key ("post_id") references "posts" ("id") on delete cascade`,
    );
    this.addSql(
      `alter table "unpublish_requests" add constraint "unpublish_requests_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
    );
  }
}

/** Names and rights of API keys. Null means no limit, as for all keys that exist. */
export class Migration0038KeyRights extends Migration {
  override up(): void {
    this.addSql(
      `alter table "api_keys" add column "name" text null, add column "scopes" text[] null, add column "channel_ids" uuid[] null, add column "expires_at" timestamptz(3) null`,
    );
  }
}

/** Who changed what, with which request. */
export class Migration0039Audit extends Migration {
  override up(): void {
    // Every post adds a row, so no foreign keys and few indexes: the partial one leaves out most rows, and the one that
    // finds old rows costs an insert nearly nothing.
    this.addSql(
      `create table "audit_log" (
        "workspace_id" uuid not null,
        "at" timestamptz(3) not null,
        "id" uuid not null,
        "actor" text not null,
        "actor_id" uuid null,
        "action" text not null,
        "object_id" uuid not null,
        "request_id" text null,
        "address" text null,
        primary key ("workspace_id", "at", "id")
      )`,
    );
    this.addSql(`create index "audit_log_object" on "audit_log" ("object_id")`);
    this.addSql(
      `create index "audit_log_action" on "audit_log" ("workspace_id", "action", "at", "id") where "action" <> 'post.created'`,
    );
    this.addSql(`create index "audit_log_at" on "audit_log" using brin ("at")`);
  }
}

/** Keys of operators, workspaces that are being deleted, and names that the operator gave to channels. */
export class Migration0040Operators extends Migration {
  override up(): void {
    this.addSql(
      `alter table "workspaces" add column "deleted_at" timestamptz(3) null, add column "purged_at" timestamptz(3) null`,
    );
    this.addSql(
      `create index "workspaces_deleted" on "workspaces" ("deleted_at") where "deleted_at" is not null and "purged_at" is null`,
    );
    this.addSql(`alter table "channels" add column "given_name" text null`);
    this.addSql(
      `create table "operator_keys" (
        "id" uuid not null,
        "name" text not null,
        "hash" text not null,
        "last_four" text not null,
        "created_at" timestamptz(3) not null,
        "revoked_at" timestamptz(3) null,
        "last_used_at" timestamptz(3) null,
        primary key ("id")
      )`,
    );
    this.addSql(
      `alter table "operator_keys" add constraint "operator_keys_hash_unique" unique ("hash")`,
    );
  }
}

/** An order of events for readers. Writers leave it null, also those of the previous version. */
export class Migration0041EventSequence extends Migration {
  override up(): void {
    this.addSql(
      `alter table "workspaces" add column "last_event_sequence" bigint not null default '0'`,
    );
    this.addSql(`alter table "events" add column "sequence" bigint null`);
    this.addSql(
      `create unique index "events_numbered" on "events" ("workspace_id", "sequence") where "sequence" is not null`,
    );
    this.addSql(
      `create index "events_unnumbered" on "events" ("workspace_id", "created_at", "id") where "sequence" is null`,
    );
    this.addSql(`create index "events_by_time" on "events" ("workspace_id", "created_at", "id")`);
    this.addSql(`drop index "events_workspace_id_index"`);
  }
}

/** The time zone in which a post's time is shown. */
export class Migration0043PostTimezone extends Migration {
  override up(): void {
    this.addSql(`alter table "posts" add column "timezone" text null`);
  }
}

/** Files of a post for one channel. */
export class Migration0044ChannelMedia extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "media" jsonb null`);
  }
}

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

/**
 * Drops two references: one cleared an event's post id when the post was deleted, and the other kept operator keys from
 * having idempotency keys.
 */
export class Migration0046DroppedReferences extends Migration {
  override up(): void {
    // Early and together, so that a deadlock with a call is less likely.
    this.addSql(
      `lock table "workspaces", "posts", "events", "idempotency_keys" in access exclusive mode`,
    );
    this.addSql(`alter table "events" drop constraint "events_post_id_foreign"`);
    this.addSql(
      `alter table "idempotency_keys" drop constraint "idempotency_keys_workspace_id_foreign"`,
    );
  }
}
