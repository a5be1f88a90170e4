import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../entry.ts';
import { NetworkError, type Account } from '../network.ts';
import { baseUrlOf } from '../send-request.ts';
import { linkedinSettings, linkedinWebUrl, type LinkedinSettings } from './settings.ts';
import { accessWith, answerAs, call, type Access } from './client.ts';
import { organizationOf, organizationsOf, type Named } from './organizations.ts';
import { refusal } from './refusal.ts';

type LinkedinToken = {
  /** Of the API: `https://api.linkedin.com`. */
  readonly baseUrl: string;
  readonly accessToken: string;
  /** Of the API. */
  readonly version: string;
};

type LinkedinLogin = LinkedinToken & {
  /** The id or the URN of an organisation whose page posts; left out: the member posts. */
  readonly organization?: string | undefined;
};

/** Of OpenID Connect: `sub` is the member's id. */
const readMember = answerReader<{ readonly sub: string; readonly name?: string }>({
  type: 'object',
  required: ['sub'],
  properties: {
    sub: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,100}$' },
    name: { type: 'string', maxLength: 500 },
  },
});

/**
 * Asks LinkedIn whose token this is, or whether its member may post for an organisation. Creates nothing.
 *
 * A member's token has the scopes `openid`, `profile` and `w_member_social`, an organisation's `w_organization_social`.
 *
 * @throws NetworkError `access_lost` for a token that LinkedIn does not accept, `permission_missing` for one that may not
 *   do this.
 * @throws AppError `invalid_request` for an organisation or an address that is none.
 */
export async function connectLinkedin(http: Egress, login: LinkedinLogin): Promise<Account> {
  const organization = login.organization?.trim() ?? '';
  const access = accessBy(http, login);
  const named = organization ? await organizationOf(access, organization) : await memberOf(access);
  return accountOf(access, named);
}

/**
 * All that a token may post as: the member, and organisations. Each of them needs its own scopes, and an app rarely has
 * both.
 *
 * @throws NetworkError `permission_missing` when it is none of them.
 */
export async function linkedinAccounts(http: Egress, token: LinkedinToken): Promise<Account[]> {
  const access = accessBy(http, token);
  const missing: NetworkError[] = [];
  const unlessForbidden = (error: unknown): [] => {
    if (error instanceof NetworkError && error.code === 'permission_missing') {
      missing.push(error);
      return [];
    }
    throw error;
  };
  const member = await memberOf(access).then((named) => [named], unlessForbidden);
  const organizations = await organizationsOf(access).catch(unlessForbidden);
  const accounts = [...member, ...organizations].map((named) => accountOf(access, named));
  const [first] = missing;
  if (accounts.length === 0 && first) {
    throw first;
  }

  return accounts;
}

/** Whether a member or an organisation can still be entered. */
export const checkLinkedin = async (
  { http, baseUrl, credentials, remoteId, settings }: Parameters<CheckAccount>[0],
  version: string,
): ReturnType<CheckAccount> => {
  const access = accessWith({ http, baseUrl }, credentials, version, 'prepare');
  const { urn, handle, name } = linkedinSettings(settings).isOrganization
    ? await organizationOf(access, remoteId)
    : await memberOf(access);
  return { remoteId: urn, handle, displayName: name };
};

function accessBy(http: Egress, { baseUrl, accessToken, version }: LinkedinToken): Access {
  const server = { http, baseUrl: baseUrlOf(baseUrl) };
  return accessWith(server, { accessToken: accessToken.trim() }, version, 'prepare');
}

function accountOf({ server, accessToken }: Access, { urn, handle, name }: Named): Account {
  const { baseUrl } = server;
  const settings: LinkedinSettings = {
    isOrganization: urn.startsWith('urn:li:organization:'),
    webUrl: linkedinWebUrl(baseUrl),
  };
  return {
    baseUrl,
    remoteId: urn,
    handle,
    displayName: name,
    credentials: { accessToken },
    session: null,
    settings,
  };
}

/** Source: https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
async function memberOf(access: Access): Promise<Named> {
  const response = await call(access, { method: 'GET', path: '/v2/userinfo', purpose: 'prepare' });
  if (response.status === 403) {
    const needs = 'the product "Sign In with LinkedIn using OpenID Connect" (openid, profile)';
    throw refusal(response, { ...access, purpose: 'prepare', needs });
  }

  const { sub, name } = answerAs(access, response, 'prepare', readMember);
  return { urn: `urn:li:person:${sub}`, handle: name?.trim() || sub, name };
}
