import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { DomUtils, parseDocument } from 'htmlparser2';
import { sql } from 'kysely';
import type { Channel } from '../../db/entities/channels.ts';
import { ApiKey, Workspace } from '../../db/entities/workspaces.ts';
import { query } from '../../db/query.ts';
import type { Connector } from '../../networks/network-entry.ts';
import type { Account } from '../../networks/network.ts';
import type { Grant, OauthEntry, Authorized } from '../../networks/oauth/contract.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { hashApiKey } from '../../runtime/secrets.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { redirectUri, oauthContext } from '../../services/channels/oauth-context.ts';
import { required, text } from '../flags.ts';
import { adminCommand, type CommandDeps } from './command.ts';
import { createApiKey, createWorkspace } from './workspaces.ts';

const demoName = 'Demo';

/**
 * Creates a workspace with the sandbox's accounts as its channels. `npm start` runs it every time: it adds missing and
 * disconnected channels, and updates the channels when the sandbox has another port. The caller's file keeps the API
 * key, so that an interrupted start cannot lose it.
 */
export const createDemo = adminCommand({
  brief: 'Creates the demo workspace with a sandbox channel of each network, for "npm start"',
  flags: {
    sandboxUrl: required(text('Address of the sandbox', 'URL')),
    keyFile: required(text('Keeps the API key', 'FILE')),
  },
  run: async (deps, { sandboxUrl, keyFile }) => {
    const { em, networks } = deps;
    const known = await em.findOne(
      Workspace,
      { name: demoName, deletedAt: null },
      { orderBy: { createdAt: 'asc' } },
    );
    const workspaceId = known?.id ?? (await createWorkspace(em, demoName));
    const apiKey = await keptKey(em, workspaceId, keyFile);
    const channels: (Pick<Channel, 'id' | 'platform' | 'handle'> & { takes_text: boolean })[] = [];
    for (const platform of Object.keys(networks.connectors)) {
      const { id, handle } =
        (await findConnected(em, workspaceId, platform, sandboxUrl)) ??
        (await connect(deps, workspaceId, platform, sandboxUrl));
      channels.push({ id, platform, handle, takes_text: acceptsText(networks, platform) });
    }

    const lines = channels.map(({ id, platform, handle }) => `  ${id}  ${platform} ${handle}`);
    return {
      text: [`Demo workspace ${workspaceId}`, ...lines, `API key: ${apiKey}`].join('\n'),
      data: { workspace_id: workspaceId, api_key: apiKey, channels },
    };
  },
});

/** Returns the key in the file while it is valid, or creates one and writes it to the file. */
async function keptKey(
  em: CommandDeps['em'],
  workspaceId: string,
  keyFile: string,
): Promise<string> {
  const kept = (await readFile(keyFile, 'utf8').catch(() => '')).trim();
  if (await em.findOne(ApiKey, { workspaceId, hash: hashApiKey(kept), revokedAt: null })) {
    return kept;
  }

  const key = await createApiKey(em, workspaceId);
  await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
  return key;
}

/** Whether the network accepts a post with only a text. */
function acceptsText({ rules }: CommandDeps['networks'], platform: string): boolean {
  const known = Object.entries(rules).find(([name]) => name === platform)?.[1];
  const content = { texts: ['Hello'], media: [[]], video: null, options: {} };
  return known?.validate(content, {}).errors.length === 0;
}

/** Returns the channel of an earlier start while it is connected. */
async function findConnected(
  em: CommandDeps['em'],
  workspaceId: string,
  platform: string,
  sandboxUrl: string,
): Promise<Pick<Channel, 'id' | 'handle'> | undefined> {
  const [channel] = await query(
    em,
    sql<Pick<Channel, 'id' | 'handle'>>`select c.id, c.handle from channels c
      join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.workspace_id = ${workspaceId} and c.platform = ${platform} and c.state = 'connected'
        and (c.base_url = ${sandboxUrl} or starts_with(c.base_url, ${`${sandboxUrl}/`}))
      order by c.created_at limit 1`,
  );
  return channel;
}

/**
 * Connects the demo account of a network, with OAuth where possible, or moves its channel to the sandbox's current
 * URL. Other channels of the workspace are not touched: their owner may have connected real accounts, which must not
 * be requested at the sandbox.
 */
async function connect(
  deps: CommandDeps,
  workspaceId: string,
  platform: string,
  sandboxUrl: string,
): Promise<Channel> {
  const { em, sealer } = deps;
  const { account, grant } = await signIn(deps, platform, sandboxUrl);
  const { baseUrl, remoteId, handle } = account;
  await query(
    em,
    sql`update channels c set base_url = ${baseUrl}
        where workspace_id = ${workspaceId} and platform = ${platform} and remote_id = ${remoteId} and handle = ${handle}
          and not exists (select 1 from channels d where d.workspace_id = c.workspace_id and d.platform = c.platform
            and d.remote_id = c.remote_id and d.base_url = ${baseUrl})`,
  );
  return connectChannel(em, sealer, workspaceId, platform, account, { grant });
}

async function signIn(
  deps: CommandDeps,
  platform: string,
  sandboxUrl: string,
): Promise<{ readonly account: Account; readonly grant: Grant | null }> {
  const entries: Readonly<Record<string, OauthEntry | undefined>> = deps.networks.oauth;
  const entry = entries[platform];
  if (entry) {
    const { grant, accounts } = await signInAtSandbox(deps, platform, entry, sandboxUrl);
    const [account] = accounts;
    if (account) {
      return { account, grant };
    }
  }

  const connectors: Readonly<Record<string, Connector | undefined>> = deps.networks.connectors;
  const connector = connectors[platform];
  if (!connector) {
    throw new Error(`There is no way to connect an account of ${platform}.`);
  }

  const account = await connector.connect(deps.egress, connector.sandbox(sandboxUrl));
  return { account, grant: null };
}

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;

/**
 * Connects the sandbox's demo account as a person does in a browser: opens the network's page, presses "Allow" and
 * returns with the answer.
 *
 * @throws OauthError, EgressError; Error when the page is not the sandbox's.
 */
async function signInAtSandbox(
  deps: CommandDeps,
  platform: string,
  entry: OauthEntry,
  sandboxUrl: string,
): Promise<Authorized> {
  const oauth = await entry.load();
  const context = oauthContext({ ...deps, sandboxUrl }, platform, true);
  const begun = await oauth.begin({
    ...context,
    values: {},
    state: randomBytes(32).toString('base64url'),
    redirectUriFor: (server) => redirectUri(deps.publicUrl, platform, server),
  });
  const answer = await allow(deps, begun.url);
  if (answer.searchParams.get('state') !== begun.state) {
    throw new Error(`The sandbox did not authorize the account of ${platform}.`);
  }

  const { redirectUri: cameBackTo, kept } = begun;
  return oauth.finish({
    ...context,
    answer: answer.searchParams,
    redirectUri: cameBackTo,
    kept,
  });
}

/** @returns the URL to which "Allow" redirects. */
async function allow({ egress }: CommandDeps, url: string): Promise<URL> {
  const page = await egress.request({ method: 'GET', url, timeoutMs, maxBytes });
  const form = formIn(page, url);
  const { headers } = await egress.request({
    method: 'POST',
    url: form.action,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: new URL(url).origin,
    },
    body: String(new URLSearchParams({ ...form.fields, decision: 'allow' })),
    timeoutMs,
    maxBytes,
  });
  return new URL(headers['location'] ?? '', form.action);
}

/** The values that the form would send: hidden fields and ticked ones. */
function formIn({ body }: EgressResponse, url: string) {
  const page = parseDocument(body.toString('utf8'));
  const [form] = DomUtils.getElementsByTagName('form', page, true, 1);
  if (!form) {
    throw new Error(`The sandbox has no form at ${new URL(url).pathname}.`);
  }

  const inputs = DomUtils.getElementsByTagName('input', form, true);
  const isSent = ({ attribs }: (typeof inputs)[number]): boolean =>
    attribs['type'] === 'hidden' || 'checked' in attribs;
  return {
    action: new URL(form.attribs['action'] ?? '', url).href,
    fields: Object.fromEntries(
      inputs.filter(isSent).map(({ attribs }) => [attribs['name'], attribs['value'] ?? 'on']),
    ) as Record<string, string>,
  };
}
