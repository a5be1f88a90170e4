import { recordAudit, type Actor } from '../../db/audit.ts';
import { Channel, ConnectLink } from '../../db/entities/channels.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { dropLinks } from '../../db/repositories/links.ts';
import { AppError, channelDetail, noChannelHas, wrongValue } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { isText, pasted } from '../../domain/texts.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import { newLinkToken, sha256Hex } from '../../runtime/secrets.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { assertChannelQuota } from './connect-channel.ts';
import { isAtSandbox } from './oauth-context.ts';
import { mayReturnTo } from '../../runtime/config/allowed-addresses.ts';

const lifeMs = 15 * 60_000;

/** Open links of an API key, or of the operator. Another one replaces the oldest. */
const mostOpen = 100;

type LinkDeps = Pick<
  ServiceDeps,
  'orm' | 'networks' | 'publicUrl' | 'sandboxUrl' | 'now' | 'sealer' | 'returnUrls'
>;

type LinkRequest = {
  readonly platform: string;
  /** Keyed by the names in `OauthEntry.fields`. The page asks the person for missing ones. */
  readonly values?: Readonly<Record<string, string>>;
  readonly returnUrl?: string | undefined;
  /** Defaults to the sandbox when the channel's account is there. */
  readonly atSandbox?: boolean | undefined;
  /** The channel to connect again. Any other account is then refused. */
  readonly channelId?: string | undefined;
  readonly mostChannels: number;
};

/** `expires_at` is ISO 8601 in UTC. */
type CreatedLink = { readonly id: string; readonly link: string; readonly expires_at: string };

/** Creates a single-use link with which a person connects one account to a workspace in a browser. */
export async function createConnectLink(
  deps: LinkDeps,
  actor: Actor,
  request: LinkRequest,
  key?: RequestKey,
): Promise<CreatedLink & { readonly replayed: boolean }> {
  const entry = entryOf(deps, request.platform);
  const returnUrl =
    request.returnUrl === undefined ? null : checkReturnUrl(request.returnUrl, deps.returnUrls);
  const values = checkValues(request.platform, entry, request.values ?? {});
  const store = (em: Em) => storeLink(deps, em, actor, { ...request, values }, entry, returnUrl);
  return createOnce(deps, actor.workspaceId, key, (transact) => transact(store), lifeMs);
}

async function storeLink(
  deps: LinkDeps,
  em: Em,
  actor: Actor,
  request: LinkRequest,
  entry: OauthEntry,
  returnUrl: string | null,
): Promise<CreatedLink> {
  const { workspaceId } = actor;
  const { platform, channelId } = request;
  const channel = channelId === undefined ? null : await channelOf(em, workspaceId, channelId);
  if (channel && channel.platform !== platform) {
    throw wrongValue('/platform', `is ${channel.platform} for this channel`);
  }

  if (!channel) {
    await assertChannelQuota(em, workspaceId, request.mostChannels);
  }

  const atSandbox = request.atSandbox ?? (channel !== null && isAtSandbox(deps, channel.baseUrl));
  assertUsable(deps, platform, entry, atSandbox);
  const known = channel && !atSandbox ? knownValuesOf(channel, entry) : {};
  const values = { ...known, ...request.values };
  const id = newId();
  const token = newLinkToken();
  const now = deps.now();
  const expiresAt = new Date(now.getTime() + lifeMs);
  em.create(ConnectLink, {
    id,
    workspaceId,
    platform,
    tokenHash: sha256Hex(token),
    channelId: channel?.id ?? null,
    values,
    atSandbox,
    returnUrl,
    status: 'open',
    expiresAt,
    createdAt: now,
  });
  await em.flush(); // For `dropLinks`, which counts it.
  await recordAudit(em, actor, 'connect_link.created', id);
  await dropLinks(em, actor, mostOpen);
  return { id, link: `${deps.publicUrl}/connect/${token}`, expires_at: expiresAt.toISOString() };
}

function entryOf({ networks: { oauth } }: LinkDeps, platform: string): OauthEntry {
  const entry = Object.hasOwn(oauth, platform) ? oauth[platform] : undefined;
  if (!entry) {
    const allowed = Object.keys(oauth);
    const message = `must be one of ${allowed.join(', ')}`;
    const details = [{ path: '/platform', message, allowed }];
    throw new AppError('invalid_request', `platform ${message}.`, { details });
  }

  return entry;
}

function assertUsable(
  { sandboxUrl }: LinkDeps,
  platform: string,
  entry: OauthEntry,
  atSandbox: boolean,
): void {
  const { missing } = entry;
  if (atSandbox && sandboxUrl === null) {
    throw wrongValue('/sandbox', 'needs a sandbox: PUNCTUAL_SANDBOX_URL is not set');
  }

  if (!atSandbox && missing.length > 0) {
    const message = `Accounts of ${networkName(platform, entry)} cannot be connected yet: the operator has to set ${missing.join(' and ')}${sandboxUrl === null ? '' : ', or send `sandbox: true` for an account of the sandbox'}.`;
    throw new AppError('network_not_configured', message);
  }
}

async function channelOf(em: Em, workspaceId: string, id: string): Promise<Channel> {
  const own = { id, workspaceId, disconnectedAt: null };
  const channel = isId(id) ? await em.findOne(Channel, own) : null;
  if (!channel) {
    const message = `${noChannelHas(id)} Leave channel_id out: a disconnected account gets its id back.`;
    throw new AppError('invalid_channel_ids', message, {
      details: [channelDetail('/channel_id', message, id)],
    });
  }

  return channel;
}

function knownValuesOf(
  { baseUrl, handle }: Channel,
  { fields }: OauthEntry,
): Record<string, string> {
  return {
    ...('url' in fields ? { url: baseUrl } : {}),
    ...('handle' in fields ? { handle } : {}),
  };
}

/** In UTF-16 code units: longer than any address of a server or handle. */
const longestValue = 500;

/** Validates the values that the caller or the person gave. @param called Maps a field to the name that the user sees. */
export function checkValues(
  platform: string,
  entry: Pick<OauthEntry, 'fields' | 'name'>,
  values: Readonly<Record<string, string>>,
  called: (name: string) => string = (name) => name,
): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, given] of Object.entries(values)) {
    const value = pasted(given);
    const field = Object.hasOwn(entry.fields, name) ? entry.fields[name] : undefined;
    if (!field) {
      const taken = Object.keys(entry.fields).join(' and ') || 'neither url nor handle';
      throw wrongValue(
        `/${name}`,
        `does not belong here: an account of ${networkName(platform, entry)} takes ${taken}`,
      );
    }

    if (value.length > longestValue || !isText(value) || /[\p{Cc}\p{Zs}]/v.test(value)) {
      const message = `must look like ${field.placeholder}, without spaces`;
      throw wrongValue(`/${name}`, message, `${called(name)} ${message}.`);
    }

    if (value !== '') {
      checked[name] = value;
    }
  }

  return checked;
}

/** The network's display name: `LinkedIn` for the platform `linkedin`. */
export const networkName = (
  platform: string,
  entry: Pick<OauthEntry, 'name'> | undefined,
): string => entry?.name ?? `${platform.charAt(0).toUpperCase()}${platform.slice(1)}`;

/**
 * Compares parsed URLs, and paths by whole segments: a string prefix would accept `https://app.example.evil.example` or
 * `/accounts-of-mallory`. @param allowed Each entry allows its origin, at and below its path.
 */
function checkReturnUrl(given: string, allowed: readonly URL[]): string {
  const url = URL.parse(given);
  if (!url || !mayReturnTo(url)) {
    throw wrongValue(
      '/return_url',
      'must be an https address (http only of this machine), without a user or a fragment',
    );
  }

  if (/;|%3b|%25/iv.test(url.pathname) || !isDecodable(url.pathname)) {
    throw wrongValue(
      '/return_url',
      'must not have ";", "%25" or an invalid escape in its path, which servers read in two ways',
    );
  }

  if (!allowed.some((one) => one.origin === url.origin && isBelow(url.pathname, one.pathname))) {
    throw wrongValue(
      '/return_url',
      'is not among the addresses that the operator allows (PUNCTUAL_CONNECT_RETURN_URLS)',
    );
  }

  return url.href;
}

/** False for escapes that are not UTF-8: some servers read `%c0%ae` and `%u002e` as a dot. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** Decodes `%2f`, `%5c` and `%2e` first, because a server may decode a path before it resolves `..`. */
function isBelow(path: string, root: string): boolean {
  const decoded = path.replaceAll(/%2f|%5c/giv, '/').replaceAll(/%2e/giv, '.');
  if (/(?:^|\/)\.\.(?:\/|$)/v.test(decoded)) {
    return false;
  }

  const above = root.replace(/(?<!\/)\/+$/v, '');
  return path === above || path.startsWith(`${above}/`);
}
