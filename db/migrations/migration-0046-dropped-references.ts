import { Migration } from '@mikro-orm/migrations';

/** The reference set the post id of an event to null when its post was deleted. */
export class Migration0046DroppedReferences extends Migration {
  override up(): void {
    // In the order in which statements lock them; otherwise a statement that holds one ends the migration by a deadlock.
    this.addSql(`lock table "posts", "events" in access exclusive mode`);
    this.addSql(`alter table "events" drop constraint "events_post_id_foreign"`);
  }
}
