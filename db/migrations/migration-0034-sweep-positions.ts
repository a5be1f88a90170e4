import { Migration } from '@mikro-orm/migrations';

/** The sweep no longer compares stored files with rows, so it stores no position. */
export class Migration0034SweepPositions extends Migration {
  override up(): void {
    this.addSql(`drop table "sweep_positions"`);
  }
}
