import { sql } from 'kysely';
import { Channel } from '../../db/entities/channel.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import { newLinkToken, sha256Hex } from '../../runtime/secrets.ts';
import { assertChannelQuota } from '../connect-channel.ts';
import type { AccountDeps } from '../deps.ts';
import { isAtSandbox } from '../oauth-context.ts';
import { networkName } from './network-name.ts';
import { checkReturnUrl } from './return-url.ts';
import { checkValues } from './values.ts';

/** Lifetime of a link. */
const lifeMs = 15 * 60_000;

/** Open links per workspace. Another one replaces the oldest. */
const mostOpen = 100;

export type LinkDeps = Pick<AccountDeps, 'orm' | 'oauth' | 'publicUrl' | 'sandboxUrl' | 'now'> & {
  /** Allowed addresses for `return_url`. */
  readonly returnUrls: readonly URL[];
};

export type LinkRequest = {
  readonly platform: string;
  /** Keyed by the names in `OauthEntry.fields`. The page asks the person for missing ones. */
  readonly values?: Readonly<Record<string, string>>;
  readonly returnUrl?: string | undefined;
  /** Defaults to the sandbox when the channel's account is there. */
  readonly atSandbox?: boolean | undefined;
  /** The channel to connect again. Any other account is then refused. */
  readonly channelId?: string | undefined;
  /** The channel limit from the settings. */
  readonly mostChannels: number;
};

export type CreatedLink = { readonly link: string; readonly expiresAt: Date };

/**
 * Creates a single-use link with which a person connects one account to a workspace in a browser.
 *
 * @throws AppError `invalid_request`, `invalid_channel_ids`, `network_not_configured`, `quota_exceeded`
 */
export async function createConnectLink(
  deps: LinkDeps,
  workspaceId: string,
  request: LinkRequest,
): Promise<CreatedLink> {
  const { platform, channelId } = request;
  const entry = entryOf(deps, platform);
  const returnUrl =
    request.returnUrl === undefined ? null : checkReturnUrl(request.returnUrl, deps.returnUrls);
  const given = checkValues(platform, entry, request.values ?? {});
  return deps.orm.em.fork().transactional(async (em) => {
    const channel = channelId === undefined ? null : await channelOf(em, workspaceId, channelId);
    if (channel && channel.platform !== platform) {
      throw wrong('/platform', `is ${channel.platform} for this channel`);
    }

    if (!channel) {
      await assertChannelQuota(em, workspaceId, request.mostChannels);
    }

    const atSandbox = request.atSandbox ?? (channel !== null && isAtSandbox(deps, channel.baseUrl));
    assertUsable(deps, platform, entry, atSandbox);
    const values = { ...(channel && !atSandbox ? knownValuesOf(channel, entry) : {}), ...given };
    const token = newLinkToken();
    const now = deps.now();
    const expiresAt = new Date(now.getTime() + lifeMs);
    await query(
      em,
      db.insertInto('connect_links').values({
        id: newId(),
        workspace_id: workspaceId,
        platform,
        token_hash: sha256Hex(token),
        channel_id: channel?.id ?? null,
        values,
        at_sandbox: atSandbox,
        return_url: returnUrl,
        status: 'open',
        expires_at: expiresAt,
        created_at: now,
      }),
    );
    await dropOldest(em, workspaceId);
    return { link: `${deps.publicUrl}/connect/${token}`, expiresAt };
  });
}

function entryOf({ oauth }: LinkDeps, platform: string): OauthEntry {
  const known = Object.entries(oauth);
  const [, entry] = known.find(([name]) => name === platform) ?? [];
  if (!entry) {
    throw wrong('/platform', `must be one of ${known.map(([name]) => name).join(', ')}`);
  }

  return entry;
}

/** @throws AppError `network_not_configured`; `invalid_request` when no sandbox is configured. */
function assertUsable(
  { sandboxUrl }: LinkDeps,
  platform: string,
  entry: OauthEntry,
  atSandbox: boolean,
): void {
  const { missing } = entry;
  if (atSandbox && sandboxUrl === null) {
    throw wrong('/sandbox', 'needs a sandbox: PUNCTUAL_SANDBOX_URL is not set');
  }

  if (!atSandbox && missing.length > 0) {
    throw new AppError(
      'network_not_configured',
      `Accounts of ${networkName(platform, entry)} cannot be connected yet: the operator has to set ${missing.join(' and ')}.`,
    );
  }
}

/** @throws AppError `invalid_channel_ids` */
async function channelOf(em: Em, workspaceId: string, id: string): Promise<Channel> {
  const own = { id, workspaceId, disconnectedAt: null };
  const channel = isId(id) ? await em.findOne(Channel, own) : null;
  if (!channel) {
    const message = `No channel of this workspace has the id ${id}.`;
    throw new AppError('invalid_channel_ids', message, {
      details: [{ path: '/channel_id', message }],
    });
  }

  return channel;
}

/** Prefills the form's fields from the channel. */
function knownValuesOf(
  { baseUrl, handle }: Channel,
  { fields }: OauthEntry,
): Record<string, string> {
  return {
    ...('url' in fields ? { url: baseUrl } : {}),
    ...('handle' in fields ? { handle } : {}),
  };
}

/** Deletes the oldest links above the limit. A link that is being redeemed is not deleted. */
async function dropOldest(em: Em, workspaceId: string): Promise<void> {
  await query(
    em,
    sql`delete from connect_links where workspace_id = ${workspaceId} and id = any(array(
        select id from connect_links
        where workspace_id = ${workspaceId} and status in ('open', 'authorizing', 'choosing')
        order by created_at desc, id desc offset ${mostOpen}))`,
  );
}

const wrong = (path: string, message: string): AppError =>
  new AppError('invalid_request', `${path.slice(1)} ${message}.`, { details: [{ path, message }] });
