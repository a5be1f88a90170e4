import { Migration } from '@mikro-orm/migrations';

/** Rate limits of servers, settled channels, and columns and indexes of the sweep. */
export class Migration0003LifeOfAPost extends Migration {
  override up(): void {
    for (const statement of [...limits, ...settling, ...operators, ...sweep]) {
      this.addSql(statement);
    }
  }
}

const limits = [
  `create table "network_parks" (
      "platform" text not null,
      "base_url" text not null,
      "parked_until" timestamptz(3) not null,
      primary key ("platform", "base_url")
    )`,
  `alter table "channels" add "last_late_send_at" timestamptz(3) null`,
  `alter table "post_channels" add "tried_at" timestamptz(3) null`,
  `create index "post_channels_open"
      on "post_channels" ("channel_id") where "status" in ('scheduled', 'publishing', 'retrying')`,
];

const settling = [
  `alter table "post_channels" add "settled_at" timestamptz(3) null`,
  `create index "post_channels_unconfirmed"
      on "post_channels" ("post_id") where "status" = 'unconfirmed'`,
];

const operators = [
  `create index "posts_failed"
      on "posts" ("updated_at", "id") where "status" = 'failed'`,
];

const sweep = [
  `alter table "posts" add "checked_at" timestamptz(3) null`,
  `create index "posts_due"
      on "posts" (coalesce("retried_at", "scheduled_at")) where "status" in ('scheduled', 'publishing')`,
  // The outbox in order of time, so that after an outage the longest overdue posts are synced first.
  `drop index "posts_unsynced"`,
  `create index "posts_unsynced"
      on "posts" (coalesce("retried_at", "scheduled_at") nulls first) where "synced_revision" < "revision"`,
  `alter table "deliveries" add "checked_at" timestamptz(3) null`,
  `create index "deliveries_due"
      on "deliveries" (coalesce("next_attempt_at", "created_at")) where "status" = 'pending'`,
  `create table "sweep_finds" (
      "id" uuid not null,
      "workspace_id" uuid not null,
      "post_id" uuid null,
      "delivery_id" uuid null,
      "kind" text not null,
      "found_at" timestamptz(3) not null,
      primary key ("id")
    )`,
  `create index "sweep_finds_post_id_index"
      on "sweep_finds" ("post_id")`,
  `create index "sweep_finds_found_at_index"
      on "sweep_finds" ("found_at")`,
  `alter table "sweep_finds"
      add constraint "sweep_finds_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
];
