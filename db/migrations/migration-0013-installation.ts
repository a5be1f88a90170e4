import { Migration } from '@mikro-orm/migrations';

/** Id of the database, for Temporal. A dump includes it. */
export class Migration0013Installation extends Migration {
  override up(): void {
    this.addSql(`create table "installation" ("id" uuid primary key)`);
    this.addSql(`insert into "installation" ("id") values (gen_random_uuid())`);
  }
}
