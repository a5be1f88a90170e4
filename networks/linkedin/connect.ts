import { having, listOf, mayHave, text, textUpTo } from '../../domain/json-schema.ts';
import { AppError } from '../../domain/errors.ts';
import { forEachLimit } from '../../runtime/concurrency.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { baseUrlOf } from '../http.ts';
import type { CheckAccount } from '../network-entry.ts';
import { NetworkError, type Account } from '../network.ts';
import { ask, get, type LinkedinAccess, getAs } from './client.ts';
import { linkedinSettings, linkedinWebUrl, type LinkedinSettings } from './rules.ts';

type LinkedinToken = {
  readonly baseUrl: string;
  readonly accessToken: string;
  readonly version: string;
};

type LinkedinLogin = LinkedinToken & {
  /** The id or the URN of an organisation to post as; absent: the member. */
  readonly organization?: string | undefined;
};

/**
 * Asks LinkedIn for the token's member, or whether the member may post for an organisation. Creates nothing.
 *
 * A member's token has the scopes `openid`, `profile` and `w_member_social`, an organisation's `w_organization_social`.
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

export const checkLinkedin = async (
  account: Parameters<CheckAccount>[0],
  version: string,
): ReturnType<CheckAccount> => {
  const access = { ...account, version };
  const { urn, name } = linkedinSettings(account.settings).isOrganization
    ? await organizationOf(access, account.remoteId)
    : await memberOf(access);
  return { remoteId: urn, displayName: name };
};

function accessBy(http: Egress, { baseUrl, accessToken, version }: LinkedinToken): LinkedinAccess {
  const credentials = { accessToken: accessToken.trim() };
  return { http, baseUrl: baseUrlOf(baseUrl), credentials, version };
}

function accountOf(
  { baseUrl, credentials }: LinkedinAccess,
  { urn, handle, name }: Named,
): Account {
  const settings: LinkedinSettings = {
    isOrganization: urn.startsWith('urn:li:organization:'),
    webUrl: linkedinWebUrl(baseUrl),
  };
  return {
    baseUrl,
    remoteId: urn,
    handle,
    displayName: name,
    credentials,
    session: null,
    settings,
  };
}

type Named = {
  readonly urn: string;
  readonly handle: string;
  readonly name: string | undefined;
};

/** Reads OpenID Connect's user info, in which `sub` is the member's id. */
const readMember = answerReader(
  having({ sub: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,100}$' } }, { name: textUpTo(500) }),
);

/** Source: https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
async function memberOf(access: LinkedinAccess): Promise<Named> {
  const needs = 'the product "Sign In with LinkedIn using OpenID Connect" (openid, profile)';
  const request = { method: 'GET', path: '/v2/userinfo', purpose: 'prepare', needs } as const;
  const { sub, name } = await ask(access, request, readMember);
  return { urn: `urn:li:person:${sub}`, handle: name?.trim() || sub, name };
}

const readRoles = answerReader(
  having({
    elements: listOf(mayHave({ role: text, organization: text, organizationTarget: text })),
  }),
);

const nameSchema = { type: 'string', minLength: 1, maxLength: 255 } as const;

const readOrganization = answerReader(
  mayHave({ vanityName: nameSchema, localizedName: nameSchema }),
);

const posting = new Set([
  'ADMINISTRATOR',
  'CONTENT_ADMIN',
  'CONTENT_ADMINISTRATOR',
  'DIRECT_SPONSORED_CONTENT_POSTER',
]);

const mostRoles = 100;

const namesAtOnce = 5;

const idIn = (urn: string): string | undefined =>
  /^(?:urn:li:organization:)?(?<id>[0-9]{1,20})$/v.exec(urn)?.groups?.['id'];

/** An organisation for which the token's member may post. */
async function organizationOf(access: LinkedinAccess, named: string): Promise<Named> {
  const id = idIn(named);
  if (id === undefined) {
    const message = `An organisation must be given by its id or its URN, such as urn:li:organization:1234, not "${named}".`;
    throw new AppError('invalid_request', message);
  }

  const urn = urnOf(id);
  const roles = (await rolesOf(access)).flatMap((held) => (held.urn === urn ? held.role : []));
  if (!roles.some((role) => posting.has(role))) {
    const has = roles.length > 0 ? ` (its role there: ${roles.join(', ')})` : '';
    const message = `The member behind this token may not post for ${urn}${has}. Ask an administrator of the page for a role that may post.`;
    throw new NetworkError('permission_missing', message, { accepted: 'no' });
  }

  return namedBy(access, id);
}

/** The organisations for which the token's member may post: at most a hundred, because each costs a request. */
async function organizationsOf(access: LinkedinAccess): Promise<readonly Named[]> {
  const held = await rolesOf(access);
  const ids = held.flatMap(({ urn, role }) => (posting.has(role) && idIn(urn)) || []);
  const named = new Map<string, Named>();
  await forEachLimit([...new Set(ids)].slice(0, mostRoles), namesAtOnce, async (id) => {
    named.set(id, await namedBy(access, id));
  });
  return [...new Set(ids)].flatMap((id) => named.get(id) ?? []);
}

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/organization-access-control-by-role */
async function rolesOf(access: LinkedinAccess) {
  const path = `/rest/organizationAcls?q=roleAssignee&state=APPROVED&count=${mostRoles}`;
  const { elements } = await getAs(access, path, 'prepare', readRoles);
  return elements.map(({ role = '', organization, organizationTarget = '' }) => ({
    role,
    urn: organization ?? organizationTarget,
  }));
}

const urnOf = (id: string): string => `urn:li:organization:${id}`;

/** The handle falls back to the id when the token may not read the organisation's names. */
async function namedBy(access: LinkedinAccess, id: string): Promise<Named> {
  const response = await get(access, `/rest/organizations/${id}`, 'prepare');
  const known = response.status === 200 ? readOrganization(jsonOf(response)) : null;
  const { vanityName, localizedName: name } = known ?? {};
  return { urn: urnOf(id), handle: vanityName ?? name ?? `organization ${id}`, name };
}
