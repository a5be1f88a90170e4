import { Migration } from '@mikro-orm/migrations';

/** What workspaces may have, and how much of it they have. The rows of `quota_shares` are made when they are needed. */
export class Migration0014Quotas extends Migration {
  override up(): void {
    this.addSql(`alter table "workspaces" add column "quotas" jsonb not null default '{}'`);
    // Half of each page is left free, so that an update of a row stays on its page and touches no index.
    this.addSql(
      `create table "quota_shares" (
        "workspace_id" uuid not null,
        "share" smallint not null,
        "basis" text not null,
        "scheduled" bigint not null,
        "drafts" bigint not null,
        "text_bytes" bigint not null,
        "text_used" bigint not null,
        primary key ("workspace_id", "share")
      ) with (fillfactor = 50)`,
    );
    this.addSql(
      `alter table "quota_shares" add constraint "quota_shares_workspace_id_foreign"
         foreign key ("workspace_id") references "workspaces" ("id")`,
    );
  }
}
