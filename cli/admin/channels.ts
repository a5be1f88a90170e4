import { recordAudit } from '../../db/audit.ts';
import { Channel, ChannelGrant } from '../../db/entities/channels.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { channelAccessOf } from '../../domain/statuses.ts';
import { pasted } from '../../domain/texts.ts';
import type { Connector } from '../../networks/network-entry.ts';
import { openNetworks } from '../../networks/registry.ts';
import {
  cleanName,
  connectChannel,
  recordConnected,
} from '../../services/channels/connect-channel.ts';
import { createConnectLink } from '../../services/channels/create-link.ts';
import { disconnectChannel } from '../../services/channels/disconnect-channel.ts';
import type { Answer } from '../command.ts';
import { UsageError } from '../failures.ts';
import { given, required, text, toggle, type Flag } from '../flags.ts';
import { readSecret } from '../input.ts';
import { oneLine, tableOf } from '../table.ts';
import { adminCommand, type AdminCommand, type CommandDeps } from './command.ts';
import { assertWorkspaceExists, workspaceArgs } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

const addOf = (platform: string, { summary, options, secret }: Connector): AdminCommand => {
  const hint = `Give it by standard input, by --${secret}-file FILE, or type it at the prompt.`;
  const own = Object.entries(options).map(([name, { placeholder, required: isRequired }]) => {
    const flag = text(`Such as ${placeholder}`, name.toUpperCase());
    return [name, isRequired ? required(flag) : flag];
  });
  return adminCommand({
    brief: `${summary} The ${secret} is read from standard input, a file or a prompt`,
    args: workspaceArgs,
    flags: {
      ...(Object.fromEntries(own) as Record<string, Flag<string | undefined>>),
      [`${secret}-file`]: text(`Has the ${secret}`, 'FILE'),
      [secret]: refused(hint),
    },
    run: async (deps, { workspaceId, ...values }) => {
      const { [`${secret}-file`]: file, ...chosen } = values as Record<string, string | undefined>;
      const typed = await readSecret(secret, file, hint);
      return addChannel(
        deps,
        platform,
        workspaceId,
        given({ ...chosen, [secret]: typed }) as Values,
      );
    },
  });
};

/** Takes the place of a flag that people expect. */
const refused = (hint: string): Flag<undefined> => ({
  parameter: {
    kind: 'parsed',
    brief: 'Refused',
    hidden: true,
    optional: true,
    parse: () => {
      throw new UsageError(
        `it is refused, because other users of this machine can read command lines. ${hint} Renew the secret that you have just typed.`,
      );
    },
  },
});

/** @throws UsageError for an invalid URL; NetworkError when the network refuses the secret. Nothing is stored then. */
async function addChannel(
  deps: CommandDeps,
  platform: string,
  workspaceId: string,
  typed: Values,
): Promise<Answer> {
  const { em, sealer, quotas, egress } = deps;
  const values: Values = Object.fromEntries(
    Object.entries(typed).map(([name, value]) => [name, pasted(value)]),
  );
  const { url } = values;
  const connector = connectorOf(deps, platform);
  if (url !== undefined && !/^https?:$/v.test(URL.parse(url)?.protocol ?? '')) {
    const example = connector.options['url']?.placeholder;
    throw new UsageError(`--url must be the server's address, such as ${example}; not "${url}".`);
  }

  await assertWorkspaceExists(em, workspaceId);
  const account = await connector.connect(egress, values);
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

const addSandbox = adminCommand({
  brief: 'Connects a test account of the sandbox, which simulates every network and its failures',
  args: workspaceArgs,
  flags: {
    platform: required(text('Such as mastodon', 'PLATFORM')),
    url: text('The sandbox; with "npm start" it is known', 'URL'),
  },
  run: async (deps, { workspaceId, platform, url = deps.sandboxUrl }) => {
    if (url === null) {
      throw new UsageError(
        '--url is missing: the address of the sandbox, which "npm start" prints.',
      );
    }

    const account = connectorOf(deps, platform).sandbox(url.replace(/\/+$/v, ''));
    return addChannel(deps, platform, workspaceId, { url, ...account });
  },
});

function connectorOf({ networks }: Pick<CommandDeps, 'networks'>, platform: string): Connector {
  const known = Object.entries(networks.connectors);
  const [, connector] = known.find(([name]) => name === platform) ?? [];
  if (!connector) {
    const names = known.map(([name]) => name).join(', ');
    throw new UsageError(`--platform must be one of ${names}; not "${platform}".`);
  }

  return connector;
}

const connect = adminCommand({
  brief: 'Prints a link with which a person connects an account in a browser, within 15 minutes',
  args: workspaceArgs,
  flags: {
    platform: required(text('Such as mastodon', 'PLATFORM')),
    url: text('Its server, such as https://mastodon.example', 'URL'),
    handle: text('Of a Bluesky account, such as me.bsky.social', 'HANDLE'),
    channel: text('Connects the account of this channel again', 'CHANNEL_ID'),
    returnUrl: text('Where the browser goes afterwards', 'URL'),
    sandbox: toggle('Connects an account of the sandbox'),
  },
  run: async (deps, { workspaceId, platform, url, handle, channel, returnUrl, sandbox }) => {
    await assertWorkspaceExists(deps.em, workspaceId);
    const { link, expires_at: expiresAt } = await createConnectLink(
      deps,
      { workspaceId },
      {
        platform,
        values: given({ url, handle }),
        returnUrl,
        // Omitted: follows the account of --channel.
        atSandbox: sandbox,
        channelId: channel,
        mostChannels: deps.quotas.channels,
      },
    );
    return {
      text: `Open this in a browser before ${expiresAt}; it connects one account, once:\n${link}`,
      data: { link, expires_at: expiresAt, platform },
    };
  },
});

const list = adminCommand({
  brief: 'Lists the accounts of a workspace, including disconnected ones',
  args: workspaceArgs,
  run: async ({ em, now }, { workspaceId }) => {
    await assertWorkspaceExists(em, workspaceId);
    const oldestFirst = { orderBy: { createdAt: 'asc', id: 'asc' } } as const;
    const found = await em.find(Channel, { workspaceId }, oldestFirst);
    const grants = await em.find(ChannelGrant, { workspaceId });
    const endOf = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
    const shown = found.map((channel) => present(channel, endOf.get(channel.id) ?? null, now()));
    return {
      text: tableOf(shown, ['id', 'platform', 'handle', 'url', 'state', 'expires_at', 'error']),
      data: { workspace_id: workspaceId, channels: shown },
    };
  },
});

function present(channel: Channel, endsAt: Date | null, now: Date) {
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

const channelArgs = { channelId: 'As "channel list" shows it' };

/** @throws AppError `not_found` */
async function findConnected(em: Em, id: string): Promise<Channel> {
  const channel = isId(id) ? await em.findOne(Channel, { id, disconnectedAt: null }) : null;
  if (!channel) {
    const message = `There is no connected channel "${id}"; "npm run admin -- channel list WORKSPACE_ID" shows the ids.`;
    throw new AppError('not_found', message);
  }

  return channel;
}

const remove = adminCommand({
  brief:
    'Disconnects an account and erases its secrets. Its posts fail there at their time, unless the account is connected again before',
  args: channelArgs,
  run: async ({ orm, em, now }, { channelId }) => {
    const { workspaceId, handle, platform } = await findConnected(em, channelId);
    const change = { workspaceId, channelId };
    const disconnected = await disconnectChannel({ orm, now }, change);
    const { scheduled_posts: scheduled, still_sending: sending } = disconnected;
    return {
      text: [
        `Channel ${channelId} (${oneLine(handle)} on ${platform}) is disconnected, and its secrets are erased.`,
        `Scheduled posts that fail there at their time, unless the account is connected again: ${scheduled}.`,
        ...(sending > 0 ? [`Posts that are being sent to it at this moment: ${sending}.`] : []),
      ].join('\n'),
      data: { workspace_id: workspaceId, ...disconnected },
    };
  },
});

const rename = adminCommand({
  brief: "Changes the display name of a channel; an empty one shows the network's again",
  args: { ...channelArgs, name: 'For people' },
  run: async ({ em }, { channelId: id, name: typed }) => {
    const name = cleanName(typed);
    const channel = await em.transactional(async (tx) => {
      const found = await findConnected(tx, id);
      found.givenName = name;
      await recordAudit(tx, { workspaceId: found.workspaceId }, 'channel.edited', id);
      return found;
    });
    const shown = name ?? channel.displayName;
    return {
      text: `Channel ${id} is called ${oneLine(shown ?? channel.handle)}`,
      data: { workspace_id: channel.workspaceId, id, display_name: shown },
    };
  },
});

const adds = Object.entries(openNetworks({}).connectors).map(
  ([platform, connector]) => [`add-${platform}`, addOf(platform, connector)] as const,
);

export const channels = {
  connect,
  'add-sandbox': addSandbox,
  list,
  remove,
  rename,
  ...Object.fromEntries(adds),
};
