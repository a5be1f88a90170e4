import { Migration } from '@mikro-orm/migrations';

/** Holder of a refresh lease, so that a suspended process does not end another's lease. */
export class Migration0022OwnersOfTurns extends Migration {
  override up(): void {
    this.addSql(`alter table "channel_grants" add column "refreshing_by" uuid null`);
  }
}
