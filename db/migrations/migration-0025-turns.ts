import { Migration } from '@mikro-orm/migrations';

/** A post that meets rate limits again and again goes behind the others of its channel. */
export class Migration0025Turns extends Migration {
  override up(): void {
    this.addSql(`alter table "post_channels" add column "turn_at" timestamptz(3) null`);
  }
}
