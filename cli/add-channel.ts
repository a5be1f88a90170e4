import { connectChannel } from './connect-channel.ts';
import { connectBluesky } from '../networks/bluesky/connect.ts';
import { connectMastodon } from '../networks/mastodon/connect.ts';
import type { Account } from '../networks/network.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { UsageError } from './usage-error.ts';
import { mustExist } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

/** @throws UsageError for what is no address; NetworkError when the server does not accept the token. Then nothing is stored. */
export async function addMastodon(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', url: baseUrl = '', token: accessToken = '' } = values;
  mustBeAddress(baseUrl, 'https://mastodon.example');
  await mustExist(deps.em, workspaceId);
  const account = await connectMastodon(deps.egress, { baseUrl, accessToken });
  return store(deps, workspaceId, 'mastodon', account);
}

/** @throws UsageError for what is no address; NetworkError when the PDS does not accept the app password. Then nothing is stored. */
export async function addBluesky(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', url: baseUrl = '', handle: identifier = '' } = values;
  const { 'app-password': appPassword = '', 'web-url': webUrl } = values;
  mustBeAddress(baseUrl, 'https://bsky.social');
  await mustExist(deps.em, workspaceId);
  const login = { baseUrl, identifier, appPassword, ...(webUrl ? { webUrl } : {}) };
  return store(deps, workspaceId, 'bluesky', await connectBluesky(deps.egress, login));
}

function mustBeAddress(url: string, example: string): void {
  if (!/^https?:$/v.test(URL.parse(url)?.protocol ?? '')) {
    throw new UsageError(`--url must be the server's address, such as ${example}; not "${url}".`);
  }
}

async function store(
  { em, sealer, quotas }: CommandDeps,
  workspaceId: string,
  platform: string,
  account: Account,
): Promise<CommandAnswer> {
  const { id, handle } = await connectChannel(
    em,
    sealer,
    workspaceId,
    platform,
    account,
    quotas.channels,
  );
  return {
    text: `Channel ${id}: ${handle} on ${platform}`,
    data: { channel: { id, platform, handle } },
  };
}
