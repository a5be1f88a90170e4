import { recordAudit } from '../../db/audit.ts';
import { Channel, ChannelGrant } from '../../db/entities/channels.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { channelAccessOf } from '../../domain/statuses.ts';
import { pasted } from '../../domain/texts.ts';
import type { Connector } from '../../networks/network-entry.ts';
import type { Account } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import {
  cleanName,
  connectChannel,
  recordConnected,
} from '../../services/channels/connect-channel.ts';
import { createConnectLink } from '../../services/channels/create-link.ts';
import {
  disconnectChannel,
  type Disconnected,
} from '../../services/channels/disconnect-channel.ts';
import { UsageError } from '../failures.ts';
import type { Command, CommandAnswer, CommandDeps, Values } from './command.ts';
import { oneLine } from '../table.ts';
import { assertWorkspaceExists } from './workspaces.ts';

/** `channel add-<platform>` commands, one per network. */
export const channelCommands: Readonly<Record<`channel add-${string}`, Command>> =
  Object.fromEntries(
    Object.entries(openNetworks({}).connectors).map(([platform, { summary, options, secret }]) => {
      const own = Object.entries(options).map(([name, { placeholder, required }]) => {
        const brief = `Such as ${placeholder}`;
        return [name, { placeholder: name.toUpperCase(), brief, required }] as const;
      });
      const command: Command = {
        summary: `${summary} The ${secret} is read from standard input, a file or a prompt`,
        positionals: ['WORKSPACE_ID'],
        options: {
          ...Object.fromEntries(own),
          [`${secret}-file`]: { placeholder: 'FILE', brief: `Has the ${secret}` },
        },
        secret,
        load: async () => (deps, values) => addChannel(deps, platform, values),
      };
      return [`channel add-${platform}`, command];
    }),
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
  const most = quotas.channels;
  const { id, handle } = await em.transactional(async (tx) => {
    const channel = await connectChannel(tx, sealer, workspaceId, platform, account, { most });
    await recordAudit(tx, { workspaceId }, 'channel.connected', channel.id);
    await recordConnected(tx, channel);
    return channel;
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
  const { link, expires_at: expiresAt } = await createConnectLink(
    deps,
    { workspaceId },
    {
      platform,
      values: { ...(url ? { url } : {}), ...(handle ? { handle } : {}) },
      returnUrl: values['return-url'],
      // Omitted: follows the account of --channel.
      atSandbox: sandbox === 'yes' ? true : undefined,
      channelId: values['channel'],
      mostChannels: deps.quotas.channels,
    },
  );
  return {
    text: `Open this in a browser before ${expiresAt}; it connects one account, once:\n${link}`,
    data: { link, expires_at: expiresAt, platform },
  };
}

/** Lists the accounts of a workspace, including disconnected ones. */
export async function listChannels(
  { em, now }: CommandDeps,
  { WORKSPACE_ID: workspaceId = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, workspaceId);
  const found = await em.find(
    Channel,
    { workspaceId },
    { orderBy: { createdAt: 'asc', id: 'asc' } },
  );
  const grants = await em.find(ChannelGrant, { workspaceId });
  const endOf = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
  const channels = found.map((channel) => shown(channel, endOf.get(channel.id) ?? null, now()));
  const lines = channels.map(({ id, platform, handle, url, state, expires_at: ends, error }) => {
    const until = state === 'at_risk' ? `, access ends ${ends}` : '';
    const line = `${id}  ${platform} ${oneLine(handle)} at ${url}: ${state}${until}`;
    return [line, oneLine(error ?? '')].filter(Boolean).join('  ');
  });
  return {
    text: lines.join('\n') || 'This workspace has no channel yet.',
    data: { workspace_id: workspaceId, channels },
  };
}

function shown(channel: Channel, endsAt: Date | null, now: Date) {
  const { id, platform, handle, baseUrl, error, disconnectedAt } = channel;
  const { state, expiresAt } = channelAccessOf(channel.state, endsAt, now);
  return {
    id,
    platform,
    handle,
    url: baseUrl,
    state: disconnectedAt === null ? state : 'disconnected',
    error,
    expires_at: expiresAt?.toISOString() ?? null,
    disconnected_at: disconnectedAt?.toISOString() ?? null,
  };
}

const unknownChannel = (id: string): AppError =>
  new AppError(
    'not_found',
    `There is no connected channel "${id}"; "npm run admin -- channel list WORKSPACE_ID" shows the ids.`,
  );

/** @throws AppError as the API's call does. */
export async function removeChannel(
  { orm, em, now }: CommandDeps,
  { CHANNEL_ID: channelId = '' }: Values,
): Promise<CommandAnswer> {
  const known = isId(channelId) ? await em.findOne(Channel, { id: channelId }) : null;
  if (!known || known.disconnectedAt) {
    throw unknownChannel(channelId);
  }

  const { workspaceId } = known;
  const { disconnected } = await disconnectChannel({ orm, now }, { workspaceId, channelId });
  return { text: textOf(disconnected), data: { workspace_id: workspaceId, ...disconnected } };
}

/** Names a channel as its owner knows it; an empty name shows the network's again. @throws AppError `not_found` */
export async function renameChannel(
  { em }: CommandDeps,
  { CHANNEL_ID: id = '', NAME: given = '' }: Values,
): Promise<CommandAnswer> {
  const name = cleanName(given);
  const channel = await em.transactional(async (tx) => {
    const known = isId(id) ? await tx.findOne(Channel, { id, disconnectedAt: null }) : null;
    if (!known) {
      throw unknownChannel(id);
    }

    known.givenName = name;
    await recordAudit(tx, { workspaceId: known.workspaceId }, 'channel.edited', id);
    return known;
  });
  const { workspaceId, displayName } = channel;
  const shownName = name ?? displayName;
  return {
    text: `Channel ${id} is called ${oneLine(shownName ?? channel.handle)}`,
    data: { workspace_id: workspaceId, id, display_name: shownName },
  };
}

function textOf({
  channel: { id, platform, handle },
  scheduled_posts: scheduled,
  still_sending: sending,
}: Disconnected & { readonly still_sending: number }): string {
  return [
    `Channel ${id} (${oneLine(handle)} on ${platform}) is disconnected, and its secrets are erased.`,
    `Scheduled posts that fail there at their time, unless the account is connected again: ${scheduled}.`,
    ...(sending > 0 ? [`Posts that are being sent to it at this moment: ${sending}.`] : []),
  ].join('\n');
}
