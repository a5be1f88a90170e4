import { Migration } from '@mikro-orm/migrations';

/** OAuth: grants, registered apps and connect links. */
export class Migration0020Grants extends Migration {
  override up(): void {
    this.addSql(`create table "channel_grants" (
      "channel_id" uuid not null primary key,
      "workspace_id" uuid not null,
      "sealed_grant" text not null,
      "access_ends_at" timestamptz(3) null,
      "ends_at" timestamptz(3) null,
      "warned_of" timestamptz(3) null,
      "failing_since" timestamptz(3) null,
      "refreshed_at" timestamptz(3) null,
      "refreshing_until" timestamptz(3) null,
      "created_at" timestamptz(3) not null)`);
    this.addSql(
      `create index "channel_grants_ending" on "channel_grants" ("ends_at") where "ends_at" is not null`,
    );
    this.addSql(
      `alter table "channel_grants" add constraint "channel_grants_channel_id_foreign" foreign key ("channel_id") references "channels" ("id") on update cascade on delete cascade`,
    );
    this.addSql(
      `alter table "channel_grants" add constraint "channel_grants_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
    );
    this.addSql(`create table "oauth_apps" (
      "platform" text not null, "base_url" text not null, "redirect_uri" text not null,
      "client_id" text not null, "sealed_secret" text not null, "created_at" timestamptz(3) not null,
      primary key ("platform", "base_url", "redirect_uri"))`);
    this.addConnectLinks();
  }

  private addConnectLinks(): void {
    this.addSql(`create table "connect_links" (
      "id" uuid not null primary key,
      "workspace_id" uuid not null,
      "platform" text not null,
      "token_hash" text not null,
      "channel_id" uuid null,
      "values" jsonb not null,
      "at_sandbox" boolean not null,
      "return_url" text null,
      "status" text not null,
      "state_hash" text null,
      "browser_hash" text null,
      "redirect_uri" text null,
      "sealed_flow" text null,
      "connected_id" uuid null,
      "error" text null,
      "error_code" text null,
      "expires_at" timestamptz(3) not null,
      "created_at" timestamptz(3) not null)`);
    for (const unique of ['token_hash', 'state_hash']) {
      this.addSql(
        `alter table "connect_links" add constraint "connect_links_${unique}_unique" unique ("${unique}")`,
      );
    }
    this.addSql(
      `alter table "connect_links" add constraint "connect_links_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
    );
    for (const [channel, then] of [
      ['channel_id', 'cascade'],
      ['connected_id', 'set null'],
    ]) {
      this.addSql(
        `alter table "connect_links" add constraint "connect_links_${channel}_foreign" foreign key ("${channel}") references "channels" ("id") on delete ${then}`,
      );
    }
    for (const index of ['workspace_id', 'expires_at']) {
      this.addSql(`create index "connect_links_${index}_index" on "connect_links" ("${index}")`);
    }
  }
}
