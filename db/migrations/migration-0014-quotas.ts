import { Migration } from '@mikro-orm/migrations';

/** Quotas of workspaces and their use. Rows of `quota_shares` are inserted on demand. */
export class Migration0014Quotas extends Migration {
  override up(): void {
    this.addSql(`alter table "workspaces" add column "quotas" jsonb not null default '{}'`);
    // Half of each page stays free, so that updates stay on their page and touch no index.
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
