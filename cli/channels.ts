import { sql } from 'kysely';
import { Channel } from '../db/entities/channel.ts';
import { newId } from '../db/new-id.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';
import { quotaExceeded } from '../domain/quotas.ts';
import { connectBluesky } from '../networks/bluesky/connect.ts';
import { connectMastodon } from '../networks/mastodon/connect.ts';
import type { Account } from '../networks/network.ts';
import type { Sealer } from '../runtime/secrets.ts';
import { UsageError, type CommandAnswer, type CommandDeps } from './command.ts';
import { assertWorkspaceExists } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

/** @throws UsageError for what is no address; NetworkError when the server does not accept the token. Then nothing is stored. */
export async function addMastodon(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', url: baseUrl = '', token: accessToken = '' } = values;
  assertAddress(baseUrl, 'https://mastodon.example');
  await assertWorkspaceExists(deps.em, workspaceId);
  const account = await connectMastodon(deps.egress, { baseUrl, accessToken });
  return connect(deps, workspaceId, 'mastodon', account);
}

/** @throws UsageError for what is no address; NetworkError when the PDS does not accept the app password. Then nothing is stored. */
export async function addBluesky(deps: CommandDeps, values: Values): Promise<CommandAnswer> {
  const { WORKSPACE_ID: workspaceId = '', url: baseUrl = '', handle: identifier = '' } = values;
  const { 'app-password': appPassword = '', 'web-url': webUrl } = values;
  assertAddress(baseUrl, 'https://bsky.social');
  await assertWorkspaceExists(deps.em, workspaceId);
  const login = { baseUrl, identifier, appPassword, ...(webUrl ? { webUrl } : {}) };
  return connect(deps, workspaceId, 'bluesky', await connectBluesky(deps.egress, login));
}

function assertAddress(url: string, example: string): void {
  if (!/^https?:$/v.test(URL.parse(url)?.protocol ?? '')) {
    throw new UsageError(`--url must be the server's address, such as ${example}; not "${url}".`);
  }
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
