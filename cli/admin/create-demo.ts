import { readFile, writeFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { Channel } from '../../db/entities/channels.ts';
import { ApiKey, Workspace } from '../../db/entities/workspaces.ts';
import { query } from '../../db/query.ts';
import type { Connector } from '../../networks/network-entry.ts';
import { hashApiKey } from '../../runtime/secrets.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { required, text } from '../flags.ts';
import { adminCommand, type CommandDeps } from './command.ts';
import { createApiKey, createWorkspace } from './workspaces.ts';

const demoName = 'Demo';
const oldestFirst = { orderBy: { createdAt: 'asc' } } as const;

/**
 * Creates a workspace with the sandbox's accounts as its channels. `npm start` runs it every time: it adds missing and
 * disconnected channels, and updates the channels when the sandbox has another port. The caller's file keeps the API
 * key, so that an interrupted start cannot lose it.
 */
export const createDemo = adminCommand({
  brief: 'Creates the demo workspace with a sandbox channel of each network, for "npm start"',
  flags: {
    sandboxUrl: required(text('Address of the sandbox', 'URL')),
    keyFile: required(text('Keeps the API key', 'FILE')),
  },
  run: async (deps, { sandboxUrl, keyFile }) => {
    const { em, networks } = deps;
    const ofDemo = { name: demoName, deletedAt: null };
    const known = await em.findOne(Workspace, ofDemo, oldestFirst);
    const workspaceId = known?.id ?? (await createWorkspace(em, demoName));
    const apiKey = await keptKey(em, workspaceId, keyFile);
    const channels: (Pick<Channel, 'id' | 'platform' | 'handle'> & { takes_text: boolean })[] = [];
    for (const [platform, connector] of Object.entries(networks.connectors)) {
      const { id, handle } =
        (await findConnected(em, workspaceId, platform, sandboxUrl)) ??
        (await connect(deps, workspaceId, platform, connector, sandboxUrl));
      channels.push({ id, platform, handle, takes_text: acceptsText(networks, platform) });
    }

    const lines = channels.map(({ id, platform, handle }) => `  ${id}  ${platform} ${handle}`);
    return {
      text: [`Demo workspace ${workspaceId}`, ...lines, `API key: ${apiKey}`].join('\n'),
      data: { workspace_id: workspaceId, api_key: apiKey, channels },
    };
  },
});

/** Returns the key in the file while it is valid, or creates one and writes it to the file. */
async function keptKey(
  em: CommandDeps['em'],
  workspaceId: string,
  keyFile: string,
): Promise<string> {
  const kept = (await readFile(keyFile, 'utf8').catch(() => '')).trim();
  if (await em.findOne(ApiKey, { workspaceId, hash: hashApiKey(kept), revokedAt: null })) {
    return kept;
  }

  const key = await createApiKey(em, workspaceId);
  await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
  return key;
}

/** Whether the network accepts a post with only a text. */
function acceptsText({ rules }: CommandDeps['networks'], platform: string): boolean {
  const known = Object.entries(rules).find(([name]) => name === platform)?.[1];
  const content = { texts: ['Hello'], media: [[]], video: null, options: {} };
  return known?.validate(content, {}).errors.length === 0;
}

/** Returns the channel of an earlier start while it is connected. */
const findConnected = (
  em: CommandDeps['em'],
  workspaceId: string,
  platform: string,
  sandboxUrl: string,
): Promise<Channel | null> =>
  em.findOne(
    Channel,
    {
      workspaceId,
      platform,
      state: 'connected',
      disconnectedAt: null,
      $or: [{ baseUrl: sandboxUrl }, { baseUrl: { $like: `${sandboxUrl}/%` } }],
    },
    oldestFirst,
  );

/**
 * Connects the demo account of a network, or moves its channel to the sandbox's current URL. Other channels of the
 * workspace are not touched: their owner may have connected real accounts, which must not be requested at the sandbox.
 */
async function connect(
  { em, sealer, egress }: CommandDeps,
  workspaceId: string,
  platform: string,
  connector: Connector,
  sandboxUrl: string,
): Promise<Channel> {
  const account = await connector.connect(egress, connector.sandbox(sandboxUrl));
  const { baseUrl, remoteId, handle } = account;
  await query(
    em,
    sql`update channels c set base_url = ${baseUrl}
        where workspace_id = ${workspaceId} and platform = ${platform} and remote_id = ${remoteId} and handle = ${handle}
          and not exists (select 1 from channels d where d.workspace_id = c.workspace_id and d.platform = c.platform
            and d.remote_id = c.remote_id and d.base_url = ${baseUrl})`,
  );
  return connectChannel(em, sealer, workspaceId, platform, account);
}
