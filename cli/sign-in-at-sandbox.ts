import { randomBytes } from 'node:crypto';
import { DomUtils, parseDocument } from 'htmlparser2';
import { redirectUri } from '../accounts/connecting/redirect-uri.ts';
import { oauthContext } from '../accounts/oauth-context.ts';
import type { Authorized, OauthEntry } from '../networks/oauth/contract.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';
import type { CommandDeps } from './command.ts';

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;

/**
 * Connects the sandbox's demo account as a person does in a browser: opens the network's page, presses "Allow" and
 * returns with the answer.
 *
 * @throws OauthError, EgressError; Error when the page is not the sandbox's.
 */
export async function signInAtSandbox(
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
