import { Migration } from '@mikro-orm/migrations';

/** Accounts that are connected in a browser: what networks handed out for them, and the links that people follow. */
export class Migration0020Grants extends Migration {
  override up(): void {
    this.addSql(`create table "channel_grants" (
      "channel_id" uuid not null primary key references "channels" ("id"),
      "workspace_id" uuid not null references "workspaces" ("id"),
      "sealed_grant" text not null,
      "access_ends_at" timestamptz(3) null,
      "ends_at" timestamptz(3) null,
      "warned_of" timestamptz(3) null,
      "failing_since" timestamptz(3) null,
      "refreshed_at" timestamptz(3) null,
      "created_at" timestamptz(3) not null)`);
    this.addSql(
      `create index "channel_grants_ending" on "channel_grants" ("ends_at") where "ends_at" is not null`,
    );
    this.addSql(`create table "oauth_apps" (
      "platform" text not null, "base_url" text not null, "redirect_uri" text not null,
      "client_id" text not null, "sealed_secret" text not null, "created_at" timestamptz(3) not null,
      primary key ("platform", "base_url", "redirect_uri"))`);
    this.addSql(`create table "connect_links" (
      "id" uuid not null primary key,
      "workspace_id" uuid not null references "workspaces" ("id"),
      "platform" text not null,
      "token_hash" text not null unique,
      "channel_id" uuid null references "channels" ("id"),
      "values" jsonb not null,
      "at_sandbox" boolean not null,
      "return_url" text null,
      "status" text not null,
      "state_hash" text null unique,
      "browser_hash" text null,
      "redirect_uri" text null,
      "sealed_flow" text null,
      "connected_id" uuid null references "channels" ("id"),
      "error" text null,
      "expires_at" timestamptz(3) not null,
      "created_at" timestamptz(3) not null)`);
    this.addSql(`create index "connect_links_workspace" on "connect_links" ("workspace_id")`);
    this.addSql(`create index "connect_links_expiry" on "connect_links" ("expires_at")`);
  }
}
