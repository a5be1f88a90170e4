import { Migration } from '@mikro-orm/migrations';

/** When an API key was last used, to the minute: what nobody uses can be revoked. */
export class Migration0012KeyLastUse extends Migration {
  override up(): void {
    this.addSql(`alter table "api_keys" add column "last_used_at" timestamptz(3)`);
  }
}
