import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { openGrant } from '../../../services/channels/grants.ts';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { newClient } from '../../support/client.ts';
import { fakeNetworks } from '../../support/networks.ts';
import { startApi, startWorkers, type Punctual } from '../../support/punctual.ts';
import { spawnWorker, type WorkerProcess } from '../../support/worker-process.ts';
import { withGrantedNetwork } from './granted-network.ts';
import { startNetworkServer } from './network-server.ts';
import { startSingleUseServer, type FirstToken } from './single-use-server.ts';

const worker = fileURLToPath(new URL('./granted-worker.ts', import.meta.url));

/** An API, a network with an authorization server, and functions that start workers. */
export async function grantedPunctual(t: ExecutionContext) {
  const server = await startSingleUseServer(t);
  const network = await startNetworkServer(t, server.isLive);
  const ports = [server.url, network.url].map((url) => Number(new URL(url).port));
  const punctual = await startApi(t, { allowPorts: ports, networks: fakeNetworks });
  /** In this process, because a second process costs more processor time. */
  const startWorkersInProcess = () =>
    startWorkers(t, { ...punctual, deps: withGrantedNetwork(punctual.deps, server.tokenUrl) });
  const startWorker = async (settings: Readonly<Record<string, string>> = {}) => {
    const started: WorkerProcess = spawnWorker(t, punctual, ports, worker, {
      PUNCTUAL_TEST_TOKEN_URL: server.tokenUrl,
      ...settings,
    });
    await started.logged('polling');
    return started;
  };
  const newChannel = (first: FirstToken) => connectGranted(punctual, { server, network }, first);
  return { server, network, punctual, startWorkersInProcess, startWorker, newChannel };
}

type Servers = {
  readonly server: Awaited<ReturnType<typeof startSingleUseServer>>;
  readonly network: Awaited<ReturnType<typeof startNetworkServer>>;
};

/** A workspace with a channel that was connected through OAuth, and a webhook endpoint. */
async function connectGranted(punctual: Punctual, { server, network }: Servers, first: FirstToken) {
  const { orm, deps } = punctual;
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const remoteId = crypto.randomUUID();
  const connect = async (grant: Grant): Promise<string> => {
    const account = {
      baseUrl: network.url,
      remoteId,
      handle: '@me',
      credentials: {},
      session: null,
      settings: {},
    };
    const em = orm.em.fork();
    return (await connectChannel(em, deps.sealer, workspaceId, 'fake', account, { grant })).id;
  };
  const id = await connect(await server.grant(first));
  await orm.em.fork().execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (gen_random_uuid(), ?, 'https://example.com', '["channel.needs_reconnect"]', 'x', 'x', now())`,
    [workspaceId],
  );
  const one = async <T>(sql: string): Promise<T | undefined> =>
    (await orm.em.fork().execute<T[]>(sql, [id]))[0];
  return {
    id,
    /** The account's id at the network. */
    remoteId,
    client,
    /** Connects the account again, with a new grant. */
    reconnect: async () => {
      const grant = await server.grant({ lastsMs: 3_600_000 });
      await connect(grant);
      return grant;
    },
    post: async (body: string, inMs = 0): Promise<string> => {
      const scheduled_at = new Date(Date.now() + inMs).toISOString();
      const when = inMs > 0 ? { scheduled_at } : { schedule_in_minutes: 0 };
      return (await client.post('/posts', { body, channel_ids: [id], ...when })).body.post.id;
    },
    /** The channel as the API shows it. */
    shown: async () =>
      (await client.get('/channels')).body.channels.find((each: { id: string }) => each.id === id),
    grant: async (): Promise<Grant> => {
      const sql = 'select sealed_grant from channel_grants where channel_id = ?';
      const row = await one<{ sealed_grant: string }>(sql);
      return openGrant(deps.sealer, id, row?.sealed_grant ?? '');
    },
    /** The number of `channel.needs_reconnect` events. */
    told: async (): Promise<number> => {
      const sql = `select count(*)::int as count from events where channel_id = ? and type = 'channel.needs_reconnect'`;
      return (await one<{ count: number }>(sql))?.count ?? 0;
    },
  };
}
