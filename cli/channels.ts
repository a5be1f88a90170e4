import { sql } from 'kysely';
import { Channel } from '../db/entities/channel.ts';
import { newId } from '../db/new-id.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';
import { quotaExceeded } from '../domain/quotas.ts';
import type { Account, Connector } from '../networks/network.ts';
import { openNetworks } from '../networks/registry.ts';
import type { Sealer } from '../runtime/secrets.ts';
import { UsageError, type Command, type CommandAnswer, type CommandDeps } from './command.ts';
import { assertWorkspaceExists } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

/** `channel add-<platform>`, for every network that posts can be published to. */
export const channelCommands: Readonly<Record<`channel add-${string}`, Command>> =
  Object.fromEntries(
    Object.entries(openNetworks({}).connectors).map(([platform, { summary, options, secret }]) => [
      `channel add-${platform}`,
      {
        summary: `${summary} The ${secret} comes by standard input, a file, or at a prompt.`,
        positionals: ['WORKSPACE_ID'],
        options: { ...options, [`${secret}-file`]: { placeholder: 'FILE', required: false } },
        secret,
        run: (deps, values) => addChannel(deps, platform, values),
      },
    ]),
  );

/** @throws UsageError for what is no address; NetworkError when the network does not accept the secret. Then nothing is stored. */
async function addChannel(
  deps: CommandDeps,
  platform: string,
  values: Values,
): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', url } = values;
  const connector = connectorOf(deps, platform);

  if (url !== undefined && !/^https?:$/v.test(URL.parse(url)?.protocol ?? '')) {
    const example = connector.options['url']?.placeholder;
    throw new UsageError(`--url must be the server's address, such as ${example}; not "${url}".`);
  }

  await assertWorkspaceExists(deps.em, workspaceId);
  return connect(deps, workspaceId, platform, await connector.connect(deps.egress, values));
}

/** @throws UsageError without a sandbox; NetworkError when it does not answer. Then nothing is stored. */
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
    throw new UsageError(`Accounts can be connected of ${names}; not of "${platform}".`);
  }

  return connector;
}

async function connect(
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

/**
 * Stores a connected account, its secrets sealed. The same account connected again keeps its channel, so that
 * posts that wait for it find the new access.
 *
 * @param most How many channels the settings let a workspace have; any number when left out.
 * @throws AppError `quota_exceeded` when it would be one more than the workspace may have.
 */
export async function connectChannel(
  em: Em,
  sealer: Sealer,
  workspaceId: string,
  platform: string,
  account: Account,
  most: number = Number.POSITIVE_INFINITY,
): Promise<Channel> {
  const { baseUrl, remoteId, handle, settings } = account;
  return em.transactional(async (tx) => {
    const known = await tx.findOne(Channel, { workspaceId, platform, baseUrl, remoteId });
    if (!known) {
      await assertChannelQuota(tx, workspaceId, most);
    }

    const id = known?.id ?? newId();
    const fresh = {
      handle,
      settings,
      sealedCredentials: sealer.seal(JSON.stringify(account.credentials), credentialsPurpose(id)),
      sealedSession:
        account.session === null
          ? null
          : sealer.seal(JSON.stringify(account.session), sessionPurpose(id)),
      state: 'connected' as const,
      error: null,
      parkedUntil: null,
    };
    return known
      ? tx.assign(known, fresh)
      : tx.create(Channel, { id, workspaceId, platform, baseUrl, remoteId, ...fresh });
  });
}

/** Connections at the same time wait for each other at the workspace's row. */
async function assertChannelQuota(em: Em, workspaceId: string, most: number): Promise<void> {
  const [own] = await query(
    em,
    sql<{ channels: number | null }>`
      select (quotas ->> 'channels')::bigint::float8 as channels from workspaces where id = ${workspaceId}
      for no key update`,
  );
  const limit = own?.channels ?? most;
  const used = await em.count(Channel, { workspaceId });
  if (used >= limit) {
    throw quotaExceeded('channels', limit, used);
  }
}
