import { connectChannel } from './connect-channel.ts';
import { createApiKey, createWorkspace } from './create-workspace.ts';
import { Workspace } from '../db/entities/workspace.ts';
import { connectBluesky } from '../networks/bluesky/connect.ts';
import { connectMastodon } from '../networks/mastodon/connect.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';

const demoName = 'Demo';

/**
 * A workspace whose channels are the sandbox's accounts, for a first look. Called at every `npm start`: it makes
 * what is missing, and moves the channels along when the sandbox has another port.
 */
export async function createDemo(
  { em, egress, sealer }: CommandDeps,
  { 'sandbox-url': sandboxUrl = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const known = await em.findOne(Workspace, { name: demoName }, { orderBy: { createdAt: 'asc' } });
  const workspaceId = known?.id ?? (await createWorkspace(em, demoName));
  const apiKey = known ? null : await createApiKey(em, workspaceId);
  await em.execute('update channels set base_url = ? where workspace_id = ?', [
    sandboxUrl,
    workspaceId,
  ]);

  const mastodon = await connectMastodon(egress, {
    baseUrl: sandboxUrl,
    accessToken: 'demo',
  });
  const bluesky = await connectBluesky(egress, {
    baseUrl: sandboxUrl,
    identifier: 'demo.sandbox.test',
    appPassword: 'demo',
    webUrl: `${sandboxUrl}/bluesky`,
  });
  const channels = [
    await connectChannel(em, sealer, workspaceId, 'mastodon', mastodon),
    await connectChannel(em, sealer, workspaceId, 'bluesky', bluesky),
  ].map(({ id, platform, handle }) => ({ id, platform, handle }));
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
