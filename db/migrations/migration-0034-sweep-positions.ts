import { Migration } from '@mikro-orm/migrations';

/** No sweep compares the stored files with the rows any more. */
export class Migration0034SweepPositions extends Migration {
  override up(): void {
    this.addSql(`drop table "sweep_positions"`);
  }
}
