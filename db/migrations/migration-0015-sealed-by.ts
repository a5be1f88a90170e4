import { Migration } from '@mikro-orm/migrations';

/** Id of the SECRET_KEY that the secrets are sealed under; null until the first process starts. */
export class Migration0015SealedBy extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "sealed_by" text null`);
  }
}
