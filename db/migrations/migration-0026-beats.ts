import { Migration } from '@mikro-orm/migrations';

/** A counter that Temporal has a copy of, by which a database that was restored from a backup is noticed. */
export class Migration0026Beats extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "beats" int not null default 0,
      add column "beat_at" timestamptz(3) null, add column "behind_since" timestamptz(3) null`);
  }
}
