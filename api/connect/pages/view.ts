import { Channel } from '../../../db/entities/channel.ts';
import type { ConnectLink } from '../../../db/entities/connect-link.ts';
import { Workspace } from '../../../db/entities/workspace.ts';
import { networkName } from '../../../accounts/connecting/network-name.ts';
import { sha256Hex } from '../../../runtime/secrets.ts';
import type { ApiDeps } from '../../deps.ts';
import { countLostPosts } from '../lost-posts.ts';
import { oauthEntryOf } from '../oauth-entry.ts';
import { Problem } from '../problem.ts';
import { connectorOf } from '../use-secret.ts';
import type { Connected } from './end-pages.ts';
import type { LinkView } from './link-page.ts';

/** Collects the data of a link's page. @throws Problem `network_not_configured` */
export async function viewOf(
  deps: ApiDeps,
  link: ConnectLink,
  shown: Pick<LinkView, 'form' | 'error' | 'typed' | 'back'>,
): Promise<LinkView> {
  const entry = oauthEntryOf(deps, link);
  const { workspaceId, channelId } = link;
  const em = deps.orm.em.fork();
  const channel =
    channelId === null ? null : await em.findOne(Channel, { id: channelId, workspaceId });
  return {
    ...shown,
    link,
    entry,
    networkName: networkNameOf(deps, link),
    workspaceName: await workspaceNameOf(deps, link),
    handle: channel?.handle ?? null,
    connector: connectorOf(deps, link),
  };
}

/** Returns the connected account, only for the browser that connected it. @throws Problem `used` */
export async function connectedTo(
  deps: ApiDeps,
  { link, browser }: { readonly link: ConnectLink; readonly browser: string },
): Promise<Connected> {
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
    lost: await countLostPosts(deps, { link, browser }),
  };
}

export const networkNameOf = ({ networks }: ApiDeps, { platform }: ConnectLink): string =>
  networkName(platform, networks.oauth[platform]);

async function workspaceNameOf({ orm }: ApiDeps, { workspaceId }: ConnectLink): Promise<string> {
  const workspace = await orm.em.fork().findOne(Workspace, { id: workspaceId });
  return workspace?.name ?? 'this workspace';
}

/** The caller's return URL with the outcome in its query. */
export function returnAddress(
  { returnUrl }: ConnectLink,
  given: Readonly<Record<string, string>>,
): string | null {
  if (returnUrl === null) {
    return null;
  }

  const url = new URL(returnUrl);
  url.searchParams.delete('connected');
  url.searchParams.delete('error');
  for (const [name, value] of Object.entries(given)) {
    url.searchParams.set(name, value);
  }

  return url.href;
}
