import { Migration } from '@mikro-orm/migrations';

/**
 * Two references that were too strict. One set the post id of an event to null when its post was deleted. The other
 * kept operator keys from having idempotency keys, as workspaces do.
 */
export class Migration0046DroppedReferences extends Migration {
  override up(): void {
    // All at once, because a statement between two of these locks would end the migration by a deadlock more often. The
    // API and the worker repeat a migration that ended so.
    this.addSql(
      `lock table "workspaces", "posts", "events", "idempotency_keys" in access exclusive mode`,
    );
    this.addSql(`alter table "events" drop constraint "events_post_id_foreign"`);
    this.addSql(
      `alter table "idempotency_keys" drop constraint "idempotency_keys_workspace_id_foreign"`,
    );
  }
}
