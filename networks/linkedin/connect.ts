import { AppError } from '../../domain/errors.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { NetworkError, type Account } from '../network.ts';
import { baseUrlOf } from '../send-request.ts';
import { linkedinWebUrl, type LinkedinSettings } from './settings.ts';
import { accessWith, answerAs, call, getAs, type Access } from './client.ts';
import { refusal } from './refusal.ts';

type LinkedinLogin = {
  /** Of the API: `https://api.linkedin.com`. */
  readonly baseUrl: string;
  /** With the scopes `openid`, `profile` and `w_member_social`; for an organisation with `w_organization_social`. */
  readonly accessToken: string;
  /** The id or the URN of an organisation whose page posts; left out: the member posts. */
  readonly organization?: string | undefined;
  readonly version: string;
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

type Role = {
  readonly role?: string;
  readonly organization?: string;
  readonly organizationTarget?: string;
};

const readRoles = answerReader<{ readonly elements: readonly Role[] }>({
  type: 'object',
  required: ['elements'],
  properties: {
    elements: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          role: { type: 'string' },
          organization: { type: 'string' },
          organizationTarget: { type: 'string' },
        },
      },
    },
  },
});

const readOrganization = answerReader<{ readonly vanityName?: string; localizedName?: string }>({
  type: 'object',
  properties: {
    vanityName: { type: 'string', minLength: 1, maxLength: 255 },
    localizedName: { type: 'string', minLength: 1, maxLength: 255 },
  },
});

/**
 * Asks LinkedIn whose token this is, or whether its member may post for an organisation. Creates nothing.
 *
 * @throws NetworkError `access_lost` for a token that LinkedIn does not accept, `permission_missing` for one that may not
 *   do this.
 * @throws AppError `invalid_request` for an organisation or an address that is none.
 */
export async function connectLinkedin(http: Egress, login: LinkedinLogin): Promise<Account> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const credentials = { accessToken: login.accessToken.trim() };
  const access = accessWith({ http, baseUrl }, credentials, login.version, 'prepare');
  const organization = login.organization?.trim() ?? '';
  const { urn, handle } = organization
    ? await organizationOf(access, organization)
    : await memberOf(access);
  const settings: LinkedinSettings = {
    isOrganization: organization !== '',
    webUrl: linkedinWebUrl(baseUrl),
  };
  return { baseUrl, remoteId: urn, handle, credentials, session: null, settings };
}

type Named = { readonly urn: string; readonly handle: string };

/** Source: https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
async function memberOf(access: Access): Promise<Named> {
  const response = await call(access, { method: 'GET', path: '/v2/userinfo', purpose: 'prepare' });
  if (response.status === 403) {
    const needs = 'the product "Sign In with LinkedIn using OpenID Connect" (openid, profile)';
    throw refusal(response, { ...access, purpose: 'prepare', needs });
  }

  const { sub, name } = answerAs(access, response, 'prepare', readMember);
  return { urn: `urn:li:person:${sub}`, handle: name?.trim() || sub };
}

/** Who may post for an organisation, of all that have a role there. */
const posting = new Set([
  'ADMINISTRATOR',
  'CONTENT_ADMIN',
  'CONTENT_ADMINISTRATOR',
  'DIRECT_SPONSORED_CONTENT_POSTER',
]);
const mostRoles = 100;

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/organization-access-control-by-role */
async function organizationOf(access: Access, named: string): Promise<Named> {
  const id = /^(?:urn:li:organization:)?(?<id>[0-9]{1,20})$/v.exec(named)?.groups?.['id'];
  if (id === undefined) {
    throw new AppError(
      'invalid_request',
      `An organisation is named by its id or its URN, such as urn:li:organization:1234; not "${named}".`,
    );
  }

  const urn = `urn:li:organization:${id}`;
  const path = `/rest/organizationAcls?q=roleAssignee&state=APPROVED&count=${mostRoles}`;
  const { elements } = await getAs(access, path, 'prepare', readRoles);
  const roles = elements
    .filter(({ organization, organizationTarget }) => (organization ?? organizationTarget) === urn)
    .flatMap(({ role }) => role ?? []);
  if (!roles.some((role) => posting.has(role))) {
    const has = roles.length > 0 ? ` (it is ${roles.join(', ')} there)` : '';
    throw new NetworkError(
      'permission_missing',
      `The member behind this token may not post for ${urn}${has}. An administrator of the page gives that role.`,
      { taken: 'no' },
    );
  }

  return { urn, handle: await nameOf(access, id) };
}

/** What people call it; its id where the token may not read that. */
async function nameOf(access: Access, id: string): Promise<string> {
  const path = `/rest/organizations/${id}`;
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  const known = response.status === 200 ? readOrganization(jsonOf(response)) : null;
  return known?.vanityName ?? known?.localizedName ?? `organization ${id}`;
}
