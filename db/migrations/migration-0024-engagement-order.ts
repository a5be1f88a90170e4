import { Migration } from '@mikro-orm/migrations';

/**
 * Index of posts by engagement. It contains no time, because PostgreSQL would also use it for time ranges and scan all
 * of it once.
 */
export class Migration0024EngagementOrder extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_metrics_engagement" on "post_metrics"
        ("workspace_id", "scope", ("likes" + "comments" + "shares" + "saves") desc)`,
    );
  }
}
