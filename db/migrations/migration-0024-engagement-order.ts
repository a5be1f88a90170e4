import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/**
 * The schema of the first version. It has the name of the last of the 22 migrations that it replaces, so a database that
 * ran those has it already.
 */
export class Migration0024EngagementOrder extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('baseline.sql', import.meta.url), 'utf8'));
  }
}
