import { createConnectLink } from '../accounts/connecting/create-link.ts';
import { connectChannel } from '../accounts/connect-channel.ts';
import { pasted } from '../domain/texts.ts';
import type { Account, Connector } from '../networks/network.ts';
import { openNetworks } from '../networks/registry.ts';
import { UsageError, type Command, type CommandAnswer, type CommandDeps } from './command.ts';
import { assertWorkspaceExists } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

/** `channel add-<platform>` commands, one per network. */
export const channelCommands: Readonly<Record<`channel add-${string}`, Command>> =
  Object.fromEntries(
    Object.entries(openNetworks({}).connectors).map(([platform, { summary, options, secret }]) => [
      `channel add-${platform}`,
      {
        summary: `${summary} The ${secret} is read from standard input, a file or a prompt.`,
        positionals: ['WORKSPACE_ID'],
        options: { ...options, [`${secret}-file`]: { placeholder: 'FILE', required: false } },
        secret,
        run: (deps, values) => addChannel(deps, platform, values),
      },
    ]),
  );

/** @throws UsageError for an invalid URL; NetworkError when the network refuses the secret. Nothing is stored then. */
async function addChannel(
  deps: CommandDeps,
  platform: string,
  given: Values,
): Promise<CommandAnswer> {
  const values: Values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, pasted(value)]),
  );
  const { WORKSPACE_ID: workspaceId = '', url } = values;
  const connector = connectorOf(deps, platform);

  if (url !== undefined && !/^https?:$/v.test(URL.parse(url)?.protocol ?? '')) {
    const example = connector.options['url']?.placeholder;
    throw new UsageError(`--url must be the server's address, such as ${example}; not "${url}".`);
  }

  await assertWorkspaceExists(deps.em, workspaceId);
  return connect(deps, workspaceId, platform, await connector.connect(deps.egress, values));
}

/** @throws UsageError without a sandbox; NetworkError when it does not answer. Nothing is stored then. */
export async function addSandboxChannel(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { platform = '', url = deps.sandboxUrl ?? undefined } = values;
  if (url === undefined) {
    throw new UsageError('--url is missing: the address of the sandbox, which "npm start" prints.');
  }

  const { sandbox } = connectorOf(deps, platform);
  return addChannel(deps, platform, { ...values, ...sandbox(url.replace(/\/+$/v, '')) });
}

function connectorOf({ networks }: CommandDeps, platform: string): Connector {
  const known = Object.entries(networks.connectors);
  const [, connector] = known.find(([name]) => name === platform) ?? [];
  if (!connector) {
    const names = known.map(([name]) => name).join(', ');
    throw new UsageError(`--platform must be one of ${names}; not "${platform}".`);
  }

  return connector;
}

async function connect(
  { em, sealer, quotas }: CommandDeps,
  workspaceId: string,
  platform: string,
  account: Account,
): Promise<CommandAnswer> {
  const { id, handle } = await connectChannel(em, sealer, workspaceId, platform, account, {
    most: quotas.channels,
  });
  return {
    text: `Channel ${id}: ${handle} on ${platform}`,
    data: { channel: { id, platform, handle } },
  };
}

/** Runs `POST /channels/connect`, with the same errors. */
export async function makeConnectLink(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', platform = '', url, handle, sandbox } = values;
  await assertWorkspaceExists(deps.em, workspaceId);
  const { networks, quotas } = deps;
  const linkDeps = { ...deps, oauth: networks.oauth };
  const { link, expiresAt } = await createConnectLink(linkDeps, workspaceId, {
    platform,
    values: { ...(url ? { url } : {}), ...(handle ? { handle } : {}) },
    returnUrl: values['return-url'],
    // Omitted: follows the account of --channel.
    atSandbox: sandbox === 'yes' ? true : undefined,
    channelId: values['channel'],
    mostChannels: quotas.channels,
  });
  return {
    text: `Open this in a browser before ${expiresAt.toISOString()}; it connects one account, once:\n${link}`,
    data: { link, expires_at: expiresAt.toISOString(), platform },
  };
}
