import { Migration } from '@mikro-orm/migrations';

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
