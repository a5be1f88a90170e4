import { Migration } from '@mikro-orm/migrations';

/**
 * The posts with the most engagement are found by an index, however many there are. It holds no times: PostgreSQL would
 * take it for ranges of them too, and look at each number of engagement once.
 */
export class Migration0024EngagementOrder extends Migration {
  override up(): void {
    this.addSql(
      `create index "post_metrics_engagement" on "post_metrics"
        ("workspace_id", "scope", ("likes" + "comments" + "shares" + "saves") desc)`,
    );
  }
}
