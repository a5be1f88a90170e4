import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import { openNetworks } from '../../networks/registry.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { startApiProcess, type ApiProcess } from '../support/api-process.ts';
import { clientFor, type Client } from '../support/client.ts';
import { freshDatabase } from '../support/database.ts';
import { poll } from '../support/poll.ts';
import { addFakeChannel } from '../support/seed.ts';
import type { Target } from './attack.ts';
import { startHostileServer } from './attacks/servers.ts';

export type Service = {
  readonly api: ApiProcess;
  readonly target: Target;
  /** A client of another workspace. */
  readonly neighbour: Client;
};

/** Starts the API as operators do, with its default settings, on its own database and without Temporal. */
export async function startService(t: ExecutionContext): Promise<Service> {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const hostileServer = await startHostileServer(t);
  const secretKey = randomBytes(32).toString('hex');
  const api = await startApiProcess(t, {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_PUBLIC_URL: 'https://punctual.example',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    TEMPORAL_NAMESPACE: 'none',
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: hostileServer.replace(':', '/32:'),
    LOG_LEVEL: 'info',
  });
  await poll(
    () => Promise.resolve(api.log()),
    (log) => log.includes('the database is ready'),
  );
  const em = orm.em.fork();
  const newClient = async (name: string): Promise<Client> => {
    const workspaceId = await createWorkspace(em, name);
    return clientFor(api.url, workspaceId, await createApiKey(em, workspaceId));
  };
  const attacker = await newClient('Attacker');
  const sealer = createSealer(secretKey);
  const channels: string[] = [];
  for (const platform of Object.keys(await openNetworks({}).load())) {
    channels.push(await addFakeChannel({ orm, sealer }, attacker.workspaceId, platform));
  }

  const target = { url: api.url, attacker, channels, hostileServer };
  return { api, target, neighbour: await newClient('Neighbour') };
}
