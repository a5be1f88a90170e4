import { Migration } from '@mikro-orm/migrations';

/** Limits of one workspace or link: slots of servers, checks, refused secrets, and the daily allowance. */
export class Migration0029FairShares extends Migration {
  override up(): void {
    // Heartbeats change none of these columns, so they update no index.
    this.addSql(
      `create index "server_places_workspace" on "server_places" ("workspace_id", "platform")
        where "post_channel_id" is not null`,
    );
    this.addSql(`alter table "connect_links" add column "refused_secrets" int not null default 0`);
    this.addSql(
      `alter table "channels" add column "checked_at" timestamptz(3) null, add column "check_answer" jsonb null`,
    );
    this.addSql(
      `create table "network_use" (
        "workspace_id" uuid not null,
        "platform" text not null,
        "day" date not null,
        "used" int not null,
        primary key ("workspace_id", "platform", "day"),
        constraint "network_use_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id") on delete cascade
      )`,
    );
  }
}
