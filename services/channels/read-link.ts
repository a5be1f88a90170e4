import { Channel, ConnectLink } from '../../db/entities/channels.ts';
import { Workspace } from '../../db/entities/workspaces.ts';
import { brandOf, type Brand } from '../../domain/brand.ts';
import { AppError } from '../../domain/errors.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { oauthEntryOf } from './connect-at-network.ts';
import type { ConnectStep } from './connect-link.ts';
import { Problem } from './connect-problem.ts';
import { connectorOf } from './connect-with-secret.ts';
import { networkName } from './create-link.ts';
import { countLostPosts } from './reconnect-channel.ts';

export const linkStatuses = ['pending', 'connected', 'failed', 'expired'] as const;

/** A link as the caller who created it sees it. */
export async function readLink(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  { workspaceId, channelIds }: Pick<Caller, 'workspaceId' | 'channelIds'>,
  id: string,
) {
  const link = await orm.em.fork().findOne(ConnectLink, { id, workspaceId });
  // A key that is restricted to channels sees the links for these only.
  const isForeign = channelIds !== null && !channelIds.includes(link?.channelId ?? '');
  if (!link || isForeign) {
    const message = `There is no link "${id}". Links are deleted an hour after they have expired.`;
    throw new AppError('not_found', message);
  }

  const { platform, connectedId, error, errorCode, expiresAt } = link;
  return {
    id,
    status: statusOf(link, now()),
    channel_ids: connectedId === null ? [] : [connectedId],
    error,
    error_code: errorCode,
    platform,
    expires_at: expiresAt.toISOString(),
  };
}

const statusOf = ({ status, expiresAt }: ConnectLink, now: Date): (typeof linkStatuses)[number] =>
  status === 'connected' || status === 'failed' ? status : expiresAt > now ? 'pending' : 'expired';

/** Collects what the page of a link names. @throws Problem `network_not_configured` */
export async function describeLink(deps: ServiceDeps, link: ConnectLink) {
  const entry = oauthEntryOf(deps, link);
  const { workspaceId, channelId } = link;
  const em = deps.orm.em.fork();
  const channel =
    channelId === null ? null : await em.findOne(Channel, { id: channelId, workspaceId });
  return {
    entry,
    networkName: networkNameOf(deps, link),
    workspaceName: await workspaceNameOf(deps, link),
    handle: channel?.handle ?? null,
    connector: connectorOf(deps, link),
  };
}

/** The brand of a link's workspace, and of the settings where it has none. @param at A secret of the link; any text. */
export async function brandAt(
  { orm, brand }: Pick<ServiceDeps, 'orm' | 'brand'>,
  at: { readonly token: string } | { readonly state: string },
): Promise<Brand> {
  const where =
    'token' in at ? { tokenHash: sha256Hex(at.token) } : { stateHash: sha256Hex(at.state) };
  const em = orm.em.fork();
  const link = await em.findOne(ConnectLink, where);
  const workspace = link && (await em.findOne(Workspace, { id: link.workspaceId }));
  return brandOf((field) => workspace?.brand[field] ?? brand[field]);
}

/** Returns the connected account, only for the browser that connected it. @throws Problem `used` */
export async function connectedAccount(
  deps: ServiceDeps,
  { link, browser }: Pick<ConnectStep, 'link' | 'browser'>,
) {
  const { connectedId, workspaceId } = link;
  const isOwn = sha256Hex(browser) === link.browserHash;
  const channel =
    isOwn && connectedId !== null
      ? await deps.orm.em.fork().findOne(Channel, { id: connectedId, workspaceId })
      : null;
  if (!channel) {
    throw new Problem('used', 'This link was used already. Ask for a new link to connect again.');
  }

  return {
    networkName: networkNameOf(deps, link),
    workspaceName: await workspaceNameOf(deps, link),
    handle: channel.handle,
    server: new URL(channel.baseUrl).host,
    lost: await countLostPosts(deps, { link, browser }),
  };
}

export type ConnectedAccount = Awaited<ReturnType<typeof connectedAccount>>;

export const networkNameOf = (
  { networks }: Pick<ServiceDeps, 'networks'>,
  { platform }: Pick<ConnectLink, 'platform'>,
): string => networkName(platform, networks.oauth[platform]);

async function workspaceNameOf(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId }: ConnectLink,
): Promise<string> {
  const workspace = await orm.em.fork().findOne(Workspace, { id: workspaceId });
  return workspace?.name ?? 'this workspace';
}
