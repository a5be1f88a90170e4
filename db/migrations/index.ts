import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';
import { Upgrade } from './from-0047.ts';

const baseline = 'migration-0046-dropped-references';

/**
 * The schema of commit ffedd9cb. It has the name of the last of the migrations that it replaces, so a database that ran
 * those has it already.
 */
class Baseline extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('baseline.sql', import.meta.url), 'utf8'));
  }
}

/** In order. A released migration is never edited; the `migrations` table stores its name. */
export const migrations = [
  { name: baseline, class: Baseline },
  { name: 'migration-0062-sums', class: Upgrade },
];

/** Part of one of these migrations now; databases of earlier versions list them. */
export const isReplaced = (name: string): boolean => name < 'migration-0062-sums';
