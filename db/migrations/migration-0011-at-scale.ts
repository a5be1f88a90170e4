import { Migration } from '@mikro-orm/migrations';

/** A workspace's posts in order of their times, and when a post that waits for the others of its second wakes up. */
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
