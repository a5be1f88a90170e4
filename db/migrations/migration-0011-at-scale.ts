import { Migration } from '@mikro-orm/migrations';

/** Index of a workspace's posts by due time, and the wake-up time of posts that share a second with many others. */
export class Migration0011AtScale extends Migration {
  override up(): void {
    this.addSql(
      `create index "posts_due_by_workspace"
         on "posts" ("workspace_id", (coalesce("retried_at", "scheduled_at")), "id")
         where "status" in ('scheduled', 'publishing')`,
    );
    this.addSql(`alter table "posts" add column "wakes_at" timestamptz(3)`);
  }
}
