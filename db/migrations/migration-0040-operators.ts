import { Migration } from '@mikro-orm/migrations';

/** Keys of operators, workspaces that are being deleted, and names that the operator gave to channels. */
export class Migration0040Operators extends Migration {
  override up(): void {
    this.addSql(
      `alter table "workspaces" add column "deleted_at" timestamptz(3) null, add column "purged_at" timestamptz(3) null`,
    );
    this.addSql(
      `create index "workspaces_deleted" on "workspaces" ("deleted_at") where "deleted_at" is not null and "purged_at" is null`,
    );
    this.addSql(`alter table "channels" add column "given_name" text null`);
    this.addSql(
      `create table "operator_keys" (
        "id" uuid not null,
        "name" text not null,
        "hash" text not null,
        "last_four" text not null,
        "created_at" timestamptz(3) not null,
        "revoked_at" timestamptz(3) null,
        "last_used_at" timestamptz(3) null,
        primary key ("id")
      )`,
    );
    this.addSql(
      `alter table "operator_keys" add constraint "operator_keys_hash_unique" unique ("hash")`,
    );
  }
}
