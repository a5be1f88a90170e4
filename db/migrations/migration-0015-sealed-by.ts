import { Migration } from '@mikro-orm/migrations';

/** Under which SECRET_KEY the secrets are sealed; not known until the first process that comes. */
export class Migration0015SealedBy extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "sealed_by" text null`);
  }
}
