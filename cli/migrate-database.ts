import { migrate } from '../db/migrate.ts';
import { readConfig } from '../runtime/config/read-config.ts';
import type { CommandAnswer } from './command.ts';

/** Prints each migration to standard error as it begins: one of a large table may take long. */
export async function migrateDatabase(): Promise<CommandAnswer> {
  const applied: string[] = [];
  await migrate(readConfig().databaseUrl, (name) => {
    console.error(name);
    applied.push(name);
  });
  const text =
    applied.length > 0 ? `${applied.length} migrations were applied.` : 'The schema is up to date.';
  return { text, data: { applied } };
}
