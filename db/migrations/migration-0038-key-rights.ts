import { Migration } from '@mikro-orm/migrations';

/** Names and rights of API keys. Null means no limit, as for all keys that exist. */
export class Migration0038KeyRights extends Migration {
  override up(): void {
    this.addSql(
      `alter table "api_keys" add column "name" text null, add column "scopes" text[] null, add column "channel_ids" uuid[] null, add column "expires_at" timestamptz(3) null`,
    );
  }
}
