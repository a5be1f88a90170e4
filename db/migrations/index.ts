import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';
import {
  Migration0047OperatorKeyExpiry,
  Migration0048SearchWords,
  Migration0051Brands,
  Migration0053Warnings,
  Migration0054CallsInMemory,
  Migration0055Attempts,
  Migration0056ServersInMemory,
  Migration0057LimitsInMemory,
  Migration0058TextUsed,
  Migration0059StoredAt,
  Migration0060Finds,
  Migration0061Removals,
  Migration0062Sums,
} from './from-0047.ts';

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
  { name: 'migration-0047-operator-key-expiry', class: Migration0047OperatorKeyExpiry },
  { name: 'migration-0048-search-words', class: Migration0048SearchWords },
  { name: 'migration-0051-brands', class: Migration0051Brands },
  { name: 'migration-0053-warnings', class: Migration0053Warnings },
  { name: 'migration-0054-calls-in-memory', class: Migration0054CallsInMemory },
  { name: 'migration-0055-attempts', class: Migration0055Attempts },
  { name: 'migration-0056-servers-in-memory', class: Migration0056ServersInMemory },
  { name: 'migration-0057-limits-in-memory', class: Migration0057LimitsInMemory },
  { name: 'migration-0058-text-used', class: Migration0058TextUsed },
  { name: 'migration-0059-stored-at', class: Migration0059StoredAt },
  { name: 'migration-0060-finds', class: Migration0060Finds },
  { name: 'migration-0061-removals', class: Migration0061Removals },
  { name: 'migration-0062-sums', class: Migration0062Sums },
];

/** Part of the first migration now; databases of earlier versions list them. */
export const isReplaced = (name: string): boolean => name < baseline;
