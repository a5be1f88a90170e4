import { Migration0001Initial } from './migration-0001-initial.ts';

/** In order; a landed migration is never edited. Its name is what the `migrations` table remembers. */
export const migrations = [{ name: 'migration-0001-initial', class: Migration0001Initial }];
