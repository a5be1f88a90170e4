import { Migration } from '@mikro-orm/migrations';

/** Limits of whole servers, settled channels, and what the sweep looks for, has looked at and has found. */
export class Migration0003LifeOfAPost extends Migration {
  override up(): void {
    for (const statement of [...limits, ...settling, ...sweep]) {
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
  `create index "post_channels_open"
      on "post_channels" ("channel_id") where "status" in ('scheduled', 'publishing', 'retrying')`,
];

const settling = [
  `alter table "post_channels" add "settled_at" timestamptz(3) null`,
  `create index "post_channels_unconfirmed"
      on "post_channels" ("post_id") where "status" = 'unconfirmed'`,
];

const sweep = [
  `alter table "posts" add "checked_at" timestamptz(3) null`,
  `create index "posts_due"
      on "posts" ("scheduled_at") where "status" in ('scheduled', 'publishing')`,
  `alter table "deliveries" add "checked_at" timestamptz(3) null`,
  `create index "deliveries_due"
      on "deliveries" ("next_attempt_at") where "status" = 'pending'`,
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
