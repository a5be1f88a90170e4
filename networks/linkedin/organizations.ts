import { AppError } from '../../domain/errors.ts';
import { forEachLimit } from '../../runtime/for-each-limit.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { call, getAs, type LinkedinAccess } from './client.ts';

/** An account that may post: a member or an organisation. */
export type Named = {
  readonly urn: string;
  readonly handle: string;
  /** The display name, if LinkedIn reports one. */
  readonly name: string | undefined;
};

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

/** The roles that may post for an organisation. */
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

/**
 * An organisation for which the token's member may post.
 *
 * @param named Its id or its URN.
 * @throws NetworkError `permission_missing` when the member may not post for it.
 * @throws AppError `invalid_request` for an invalid name.
 */
export async function organizationOf(access: LinkedinAccess, named: string): Promise<Named> {
  const id = idIn(named);
  if (id === undefined) {
    throw new AppError(
      'invalid_request',
      `An organisation must be given by its id or its URN, such as urn:li:organization:1234, not "${named}".`,
    );
  }

  const urn = urnOf(id);
  const roles = (await rolesOf(access)).flatMap((held) => (held.urn === urn ? held.role : []));
  if (!roles.some((role) => posting.has(role))) {
    const has = roles.length > 0 ? ` (its role there: ${roles.join(', ')})` : '';
    throw new NetworkError(
      'permission_missing',
      `The member behind this token may not post for ${urn}${has}. Ask an administrator of the page for a role that may post.`,
      { accepted: 'no' },
    );
  }

  return namedBy(access, id);
}

/** The organisations for which the token's member may post: at most a hundred, because each costs a request. */
export async function organizationsOf(access: LinkedinAccess): Promise<readonly Named[]> {
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
  const path = `/rest/organizations/${id}`;
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  const known = response.status === 200 ? readOrganization(jsonOf(response)) : null;
  const { vanityName, localizedName: name } = known ?? {};
  return { urn: urnOf(id), handle: vanityName ?? name ?? `organization ${id}`, name };
}
