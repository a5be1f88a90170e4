import { Migration } from '@mikro-orm/migrations';

/** Schema of the first published version. */
export class Migration0001Initial extends Migration {
  override up(): void {
    for (const statement of [...tables, ...keysAndIndexes, ...references]) {
      this.addSql(statement);
    }
  }
}

const tables = [
  `create table "workspaces" (
      "id" uuid not null,
      "name" text null,
      "plan" text null default 'standard',
      "created_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "webhook_endpoints" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "url" text not null,
      "events" jsonb not null,
      "description" text null,
      "sealed_secret" text not null,
      "secret_hint" text not null,
      "created_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "posts" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "body" text null,
      "thread" jsonb null,
      "scheduled_at" timestamptz(3) null,
      "status" text not null,
      "revision" int not null default 1,
      "synced_revision" int not null default 0,
      "run" int not null default 1,
      "video" jsonb null,
      "warning" text null,
      "published_at" timestamptz(3) null,
      "created_at" timestamptz(3) not null,
      "updated_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "idempotency_keys" (
      "workspace_id" uuid not null,
      "key" text not null,
      "fingerprint" text not null,
      "post_id" uuid not null,
      "created_at" timestamptz(3) not null,
      primary key ("workspace_id", "key")
    )`,
  `create table "channels" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "platform" text not null,
      "handle" text not null,
      "remote_id" text not null,
      "base_url" text not null,
      "sealed_credentials" text not null,
      "sealed_session" text null,
      "state" text not null default 'connected',
      "error" text null,
      "parked_until" timestamptz(3) null,
      "settings" jsonb not null,
      "created_at" timestamptz(3) not null,
      "updated_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "post_channels" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "post_id" uuid not null,
      "channel_id" uuid not null,
      "position" int not null,
      "body" text null,
      "status" text not null,
      "url" text null,
      "error" text null,
      "error_code" text null,
      "warning" text null,
      "retry_at" timestamptz(3) null,
      "tries" int not null default 0,
      "metrics" jsonb null,
      "published_at" timestamptz(3) null,
      primary key ("id")
    )`,
  `create table "publish_attempts" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "post_channel_id" uuid not null,
      "channel_id" uuid not null,
      "run" int not null,
      "part" int not null,
      "key" text not null,
      "state" text not null,
      "text" text not null,
      "content_hash" text not null,
      "remote_data" jsonb not null,
      "remote_id" text null,
      "url" text null,
      "sending_at" timestamptz(3) null,
      "created_at" timestamptz(3) not null,
      "updated_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "events" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "type" text not null,
      "body" text not null,
      "post_id" uuid null,
      "run" int null,
      "channel_id" uuid null,
      "created_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "deliveries" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "endpoint_id" uuid not null,
      "event_id" uuid not null,
      "status" text not null default 'pending',
      "next_attempt_at" timestamptz(3) null,
      "created_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create table "delivery_attempts" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "delivery_id" uuid not null,
      "number" int not null,
      "created_at" timestamptz(3) not null,
      "duration_ms" int not null,
      "response_status" int null,
      "error" text null,
      primary key ("id")
    )`,
  `create table "api_keys" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "hash" text not null,
      "last_four" text not null,
      "created_at" timestamptz(3) not null,
      "revoked_at" timestamptz(3) null,
      primary key ("id")
    )`,
];

const keysAndIndexes = [
  `create index "webhook_endpoints_workspace_id_index"
      on "webhook_endpoints" ("workspace_id")`,
  `create index "posts_newest"
      on "posts" ("workspace_id", "created_at", "id")`,
  `create index "posts_unsynced"
      on "posts" ("updated_at") where "synced_revision" < "revision"`,
  `alter table "channels"
      add constraint "channels_workspace_id_platform_base_url_remote_id_unique" unique ("workspace_id", "platform", "base_url", "remote_id")`,
  `create index "post_channels_channel_id_index"
      on "post_channels" ("channel_id")`,
  `alter table "post_channels"
      add constraint "post_channels_post_id_channel_id_unique" unique ("post_id", "channel_id")`,
  `alter table "publish_attempts"
      add constraint "publish_attempts_post_channel_id_run_part_unique" unique ("post_channel_id", "run", "part")`,
  `alter table "publish_attempts"
      add constraint "publish_attempts_one_claim_per_post" unique ("channel_id", "remote_id")`,
  `create index "events_workspace_id_index"
      on "events" ("workspace_id")`,
  `create index "events_channel_id_index"
      on "events" ("channel_id")`,
  `alter table "events"
      add constraint "events_one_final_per_run" unique ("post_id", "run")`,
  `create index "deliveries_event_id_index"
      on "deliveries" ("event_id")`,
  `create index "deliveries_newest"
      on "deliveries" ("endpoint_id", "created_at", "id")`,
  `alter table "deliveries"
      add constraint "deliveries_endpoint_id_event_id_unique" unique ("endpoint_id", "event_id")`,
  `alter table "delivery_attempts"
      add constraint "delivery_attempts_delivery_id_number_unique" unique ("delivery_id", "number")`,
  `create index "api_keys_workspace_id_index"
      on "api_keys" ("workspace_id")`,
  `alter table "api_keys"
      add constraint "api_keys_hash_unique" unique ("hash")`,
];

const references = [
  `alter table "webhook_endpoints"
      add constraint "webhook_endpoints_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "posts"
      add constraint "posts_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "idempotency_keys"
      add constraint "idempotency_keys_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "idempotency_keys"
      add constraint "idempotency_keys_post_id_foreign" foreign key ("post_id") references "posts" ("id")`,
  `alter table "channels"
      add constraint "channels_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "post_channels"
      add constraint "post_channels_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "post_channels"
      add constraint "post_channels_post_id_foreign" foreign key ("post_id") references "posts" ("id")`,
  `alter table "post_channels"
      add constraint "post_channels_channel_id_foreign" foreign key ("channel_id") references "channels" ("id")`,
  `alter table "publish_attempts"
      add constraint "publish_attempts_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "publish_attempts"
      add constraint "publish_attempts_post_channel_id_foreign" foreign key ("post_channel_id") references "post_channels" ("id")`,
  `alter table "publish_attempts"
      add constraint "publish_attempts_channel_id_foreign" foreign key ("channel_id") references "channels" ("id")`,
  `alter table "events"
      add constraint "events_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "events"
      add constraint "events_post_id_foreign" foreign key ("post_id") references "posts" ("id") on delete set null`,
  `alter table "events"
      add constraint "events_channel_id_foreign" foreign key ("channel_id") references "channels" ("id") on delete set null`,
  `alter table "deliveries"
      add constraint "deliveries_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "deliveries"
      add constraint "deliveries_endpoint_id_foreign" foreign key ("endpoint_id") references "webhook_endpoints" ("id") on delete cascade`,
  `alter table "deliveries"
      add constraint "deliveries_event_id_foreign" foreign key ("event_id") references "events" ("id")`,
  `alter table "delivery_attempts"
      add constraint "delivery_attempts_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `alter table "delivery_attempts"
      add constraint "delivery_attempts_delivery_id_foreign" foreign key ("delivery_id") references "deliveries" ("id") on delete cascade`,
  `alter table "api_keys"
      add constraint "api_keys_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
];
