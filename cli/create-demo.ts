import { sql } from 'kysely';
import type { Channel } from '../db/entities/channel.ts';
import { Workspace } from '../db/entities/workspace.ts';
import { query } from '../db/query.ts';
import { connectChannel } from '../accounts/connect-channel.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { createApiKey, createWorkspace } from './workspaces.ts';

const demoName = 'Demo';

/**
 * A workspace whose channels are the sandbox's accounts, for a first look. Called at every `npm start`: it makes
 * what is missing, among it channels that were disconnected, and moves the channels along when the sandbox has another
 * port.
 */
export async function createDemo(
  { em, networks, egress, sealer }: CommandDeps,
  { 'sandbox-url': sandboxUrl = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const known = await em.findOne(Workspace, { name: demoName }, { orderBy: { createdAt: 'asc' } });
  const workspaceId = known?.id ?? (await createWorkspace(em, demoName));
  const apiKey = known ? null : await createApiKey(em, workspaceId);
  const channels: (Pick<Channel, 'id' | 'platform' | 'handle'> & { takes_text: boolean })[] = [];
  for (const [platform, connector] of Object.entries(networks.connectors)) {
    const account = await connector.connect(egress, connector.sandbox(sandboxUrl));
    const { id, handle } = await connect(em, sealer, workspaceId, platform, account);
    channels.push({ id, platform, handle, takes_text: takesText(networks, platform) });
  }

  const lines = channels.map(({ id, platform, handle }) => `  ${id}  ${platform} ${handle}`);
  return {
    text: [
      `Demo workspace ${workspaceId}`,
      ...lines,
      ...(apiKey ? [`API key: ${apiKey}`] : []),
    ].join('\n'),
    data: { workspace_id: workspaceId, api_key: apiKey, channels },
  };
}

/** Whether a network publishes a text that has no file with it, and nothing else said of it. */
function takesText({ rules }: CommandDeps['networks'], platform: string): boolean {
  const known = Object.entries(rules).find(([name]) => name === platform)?.[1];
  const content = { texts: ['Hello'], media: [[]], video: null, options: {} };
  return known?.validate(content, {}).errors.length === 0;
}

/**
 * Connects an account of the sandbox, or moves its channel to where the sandbox is now. Other channels of the workspace
 * are their owner's, who may have connected a real account: it must not be asked of the sandbox.
 */
async function connect(
  em: CommandDeps['em'],
  sealer: CommandDeps['sealer'],
  workspaceId: string,
  platform: string,
  account: Parameters<typeof connectChannel>[4],
): ReturnType<typeof connectChannel> {
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
