import { Migration } from '@mikro-orm/migrations';

/** Who refreshes a grant is named, so that a process that stood still ends nobody else's turn. */
export class Migration0022OwnersOfTurns extends Migration {
  override up(): void {
    this.addSql(`alter table "channel_grants" add column "refreshing_by" uuid null`);
  }
}
