import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import { NetworkError, type Account } from '../network.ts';
import { baseUrlOf } from '../send-network-request.ts';
import { linkedinSettings, linkedinWebUrl, type LinkedinSettings } from './settings.ts';
import { accessWith, answerAs, call, type LinkedinAccess } from './client.ts';
import { organizationOf, organizationsOf, type Named } from './organizations.ts';
import { refusal } from './refusal.ts';

type LinkedinToken = {
  /** The base URL of the API: `https://api.linkedin.com`. */
  readonly baseUrl: string;
  readonly accessToken: string;
  /** The API version. */
  readonly version: string;
};

type LinkedinLogin = LinkedinToken & {
  /** The id or the URN of an organisation to post as; absent: the member. */
  readonly organization?: string | undefined;
};

/** Reads OpenID Connect's user info, in which `sub` is the member's id. */
const readMember = answerReader<{ readonly sub: string; readonly name?: string }>({
  type: 'object',
  required: ['sub'],
  properties: {
    sub: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,100}$' },
    name: { type: 'string', maxLength: 500 },
  },
});

/**
 * Asks LinkedIn for the token's member, or whether the member may post for an organisation. Creates nothing.
 *
 * A member's token has the scopes `openid`, `profile` and `w_member_social`, an organisation's `w_organization_social`.
 *
 * @throws NetworkError `access_lost` for an invalid token, `permission_missing` for one without the scopes.
 * @throws AppError `invalid_request` for an invalid organisation or URL.
 */
export async function connectLinkedin(http: Egress, login: LinkedinLogin): Promise<Account> {
  const organization = login.organization?.trim() ?? '';
  const access = accessBy(http, login);
  const named = organization ? await organizationOf(access, organization) : await memberOf(access);
  return accountOf(access, named);
}

/**
 * All accounts that a token may post as: the member, and organisations. Each kind needs its own scopes, and few apps
 * have both.
 *
 * @throws NetworkError `permission_missing` when there are none.
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

/** Checks whether a member or an organisation is still accessible. */
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

function accessBy(http: Egress, { baseUrl, accessToken, version }: LinkedinToken): LinkedinAccess {
  const server = { http, baseUrl: baseUrlOf(baseUrl) };
  return accessWith(server, { accessToken: accessToken.trim() }, version, 'prepare');
}

function accountOf({ server, accessToken }: LinkedinAccess, { urn, handle, name }: Named): Account {
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
async function memberOf(access: LinkedinAccess): Promise<Named> {
  const response = await call(access, { method: 'GET', path: '/v2/userinfo', purpose: 'prepare' });
  if (response.status === 403) {
    const needs = 'the product "Sign In with LinkedIn using OpenID Connect" (openid, profile)';
    throw refusal(response, { ...access, purpose: 'prepare', needs });
  }

  const { sub, name } = answerAs(access, response, 'prepare', readMember);
  return { urn: `urn:li:person:${sub}`, handle: name?.trim() || sub, name };
}
