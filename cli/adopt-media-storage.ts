import { adoptStorage } from '../db/claimed-storage.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';

export async function adoptMediaStorage({ orm, openStorage }: CommandDeps): Promise<CommandAnswer> {
  const storage = await openStorage();
  try {
    await adoptStorage(orm, storage);
  } finally {
    storage.close();
  }

  return {
    text: 'This database now uses the media storage of these settings. Give the API and all workers the same settings.',
    data: { adopted: true },
  };
}
