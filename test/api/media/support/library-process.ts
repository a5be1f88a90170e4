import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { createApiKey, createWorkspace } from '../../../../cli/create-workspace.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { clientFor } from '../../../support/client.ts';
import { freshDatabase } from '../../../support/database.ts';
import { poll } from '../../../support/poll.ts';
import { noTemporal } from './start-library.ts';
import { startApiProcess } from '../../../support/api-process.ts';

type Options = {
  readonly mediaDir?: string;
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** An API as a process of its own, with a library on the disk and a client. */
export async function libraryProcess(
  t: ExecutionContext,
  { mediaDir, wrapper = [], env = {} }: Options = {},
) {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const folder = mediaDir ?? (await temporaryFolder(t));
  const settings = {
    ...noTemporal,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
    PUNCTUAL_MEDIA_DIR: folder,
    PUNCTUAL_PUBLIC_URL: 'https://punctual.example',
    ...env,
  };
  const api = await startApiProcess(t, settings, wrapper);
  await poll(
    () => Promise.resolve(api.log()),
    (log) => log.includes('the database is ready'),
    30_000,
  );
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, 'Test');
  const client = clientFor(api.url, workspaceId, await createApiKey(em, workspaceId));
  return { api, orm, client, mediaDir: folder };
}
