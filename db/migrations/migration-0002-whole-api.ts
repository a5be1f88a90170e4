import { Migration } from '@mikro-orm/migrations';

/** The media library, rate limits, retries, replays, secret rotation, and the indexes of the lists. */
export class Migration0002WholeApi extends Migration {
  override up(): void {
    for (const statement of [...media, ...rateLimits, ...posts, ...webhooks]) {
      this.addSql(statement);
    }
  }
}

const media = [
  `create table "media_files" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "name" text not null,
      "type" text not null,
      "size_bytes" bigint not null,
      "width" int null,
      "height" int null,
      "duration_ms" int null,
      "storage_key" text not null,
      "link_token" text not null,
      "created_at" timestamptz(3) not null,
      "deleted_at" timestamptz(3) null,
      primary key ("id")
    )`,
  `alter table "media_files"
      add constraint "media_files_link_token_unique" unique ("link_token")`,
  `create index "media_files_newest"
      on "media_files" ("workspace_id", "created_at", "id") where "deleted_at" is null`,
  `alter table "media_files"
      add constraint "media_files_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
  `create table "post_media" (
      "post_id" uuid not null,
      "media_id" uuid not null,
      "workspace_id" uuid not null,
      "position" int not null,
      "from_url" boolean not null,
      primary key ("post_id", "media_id")
    )`,
  `create index "post_media_media_id_index"
      on "post_media" ("media_id")`,
  `alter table "post_media"
      add constraint "post_media_post_id_foreign" foreign key ("post_id") references "posts" ("id") on update no action on delete no action`,
  `alter table "post_media"
      add constraint "post_media_media_id_foreign" foreign key ("media_id") references "media_files" ("id") on update no action on delete no action`,
  `alter table "post_media"
      add constraint "post_media_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
];

// Unlogged: the counters cover one minute, so they may be lost in a crash.
const rateLimits = [
  `create unlogged table "rate_limits" (
      "key" varchar(255) not null,
      "points" int not null default 0,
      "expire" bigint null,
      primary key ("key")
    )`,
];

const posts = [
  `alter table "posts" add "retried_at" timestamptz(3) null`,
  `create index "posts_newest_by_status"
      on "posts" ("workspace_id", "status", "created_at", "id")`,
  `create index "posts_published"
      on "posts" ("workspace_id", "published_at", "id") where "published_at" is not null`,
  `alter table "post_channels"
      add "sent_text" text null, add "metrics_updated_at" timestamptz(3) null`,
];

const webhooks = [
  `alter table "webhook_endpoints"
      add "next_sealed_secret" text null, add "next_secret_hint" text null, add "rotates_at" timestamptz(3) null`,
  `alter table "deliveries"
      add "round" int not null default 1, add "synced_round" int not null default 1, add "attempts_before" int not null default 0`,
  `create index "deliveries_unsynced"
      on "deliveries" ("id") where "synced_round" < "round"`,
];
