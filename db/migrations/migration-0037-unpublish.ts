import { Migration } from '@mikro-orm/migrations';

/** Posts can be removed from their networks. */
export class Migration0037Unpublish extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "unpublish" jsonb null`);
    this.addSql(
      `create table "unpublish_requests" ("post_id" uuid not null, "workspace_id" uuid not null, "sync_at" timestamptz(3) not null,
        constraint "unpublish_requests_pkey" primary key ("post_id"))`,
    );
    this.addSql(
      `create index "unpublish_requests_sync_at_index" on "unpublish_requests" ("sync_at")`,
    );
    this.addSql(
      `alter table "unpublish_requests" add constraint "unpublish_requests_post_id_foreign" foreign key ("post_id") references "posts" ("id") on delete cascade`,
    );
    this.addSql(
      `alter table "unpublish_requests" add constraint "unpublish_requests_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
    );
  }
}
