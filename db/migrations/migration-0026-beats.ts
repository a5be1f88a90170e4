import { Migration } from '@mikro-orm/migrations';

/** A counter with a copy in Temporal, to detect a restored database. */
export class Migration0026Beats extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "beats" int not null default 0,
      add column "beat_at" timestamptz(3) null, add column "behind_since" timestamptz(3) null`);
  }
}
