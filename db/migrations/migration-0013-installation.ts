import { Migration } from '@mikro-orm/migrations';

/** Which database this is, for Temporal: a dump takes it along, and no other one has it. */
export class Migration0013Installation extends Migration {
  override up(): void {
    this.addSql(`create table "installation" ("id" uuid primary key)`);
    this.addSql(`insert into "installation" ("id") values (gen_random_uuid())`);
  }
}
