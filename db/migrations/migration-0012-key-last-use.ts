import { Migration } from '@mikro-orm/migrations';

/** Last use of API keys, to the minute, so that unused ones can be revoked. */
export class Migration0012KeyLastUse extends Migration {
  override up(): void {
    this.addSql(`alter table "api_keys" add column "last_used_at" timestamptz(3)`);
  }
}
