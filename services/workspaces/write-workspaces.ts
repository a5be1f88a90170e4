import { recordAudit, type Origin } from '../../db/audit.ts';
import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import { ApiKey, Workspace } from '../../db/entities/workspaces.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { countTextBytes } from '../../db/quotas.ts';
import { eraseChannels, lockChannels } from '../../db/repositories/channels.ts';
import { lockWorkspace } from '../../db/repositories/workspaces.ts';
import { brandFieldNames, brandFields, type Brand } from '../../domain/brand.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import type { QuotaName } from '../../domain/quotas.ts';
import type { ServiceDeps } from '../deps.ts';
import { storeKey, type CreatedKey, type NewKey } from '../keys/write-keys.ts';

/** Only the given fields change. */
export type WorkspaceEdit = {
  readonly name?: string;
  /** Null or `none` ends the plan. */
  readonly plan?: string | null;
  /** Null returns to the default. */
  readonly quotas?: Readonly<Partial<Record<QuotaName, number | null>>>;
  /** Null fields return to the settings, and null returns all. */
  readonly brand?: Partial<Brand> | null;
};

/** The API accepts at most 15 digits, so that JSON and PostgreSQL read the same number. */
export const mostQuota = 999_999_999_999_999;

/** In UTF-16 code units. */
export const longestWorkspaceName = 200;

export async function storeWorkspace(
  em: Em,
  origin: Origin,
  { name, plan = 'standard', quotas = {}, brand = null }: WorkspaceEdit & { readonly name: string },
): Promise<string> {
  const id = newId();
  const workspace = {
    name: readName(name),
    plan: readPlan(plan),
    quotas: withoutNulls(quotas),
    brand: withoutNulls(readBrand(brand ?? {})),
  };
  return em.transactional(async (tx) => {
    tx.create(Workspace, { id, ...workspace, deletedAt: null, purgedAt: null });
    await recordAudit(tx, { ...origin, workspaceId: id }, 'workspace.created', id);
    return id;
  });
}

/**
 * Changes a workspace. A limit below the use removes nothing and stops no post; it only refuses new ones, from the next
 * call on. Without a plan, creating, changing and retrying posts fails; scheduled posts are still published.
 */
export async function editWorkspace(
  em: Em,
  origin: Origin,
  id: string,
  { name, plan, quotas = {}, brand }: WorkspaceEdit,
): Promise<void> {
  const edit = {
    ...(name === undefined ? {} : { name: readName(name) }),
    ...(plan === undefined ? {} : { plan: readPlan(plan) }),
  };
  const ownBrand = brand && readBrand(brand);
  await em.transactional(async (tx) => {
    const workspace = await lockLiving(tx, id);
    tx.assign(workspace, {
      ...edit,
      quotas: withoutNulls({ ...workspace.quotas, ...quotas }),
      brand: ownBrand === null ? {} : withoutNulls({ ...workspace.brand, ...ownBrand }),
    });
    if (Object.keys(quotas).length > 0) {
      workspace.textUsed = await countTextBytes(tx, id);
    }

    await recordAudit(tx, { ...origin, workspaceId: id }, 'workspace.edited', id);
  });
}

/** Null returns a field to the default, which is not stored. */
const withoutNulls = <T extends object>(fields: T) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as { [Name in keyof T]?: NonNullable<T[Name]> };

export async function storeWorkspaceKey(
  em: Em,
  origin: Origin,
  workspaceId: string,
  rights: Partial<NewKey> = {},
): Promise<CreatedKey> {
  const all = { name: null, scopes: null, channelIds: null, expiresAt: null };
  return em.transactional(async (tx) => {
    await lockLiving(tx, workspaceId);
    const created = await storeKey(tx, workspaceId, { ...all, ...rights });
    await recordAudit(tx, { ...origin, workspaceId }, 'key.created', created.key.id);
    return created;
  });
}

/**
 * Ends a workspace: from the commit on its keys and links are refused, and nothing of it is sent, because the secrets of
 * its accounts are erased. The sweep deletes its rows and files. Locks in the order in which accounts are connected; keys
 * are last, because each change holds the caller's key when it is recorded.
 */
export async function deleteWorkspace(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  origin: Origin,
  id: string,
): Promise<void> {
  const at = now();
  await orm.em.fork().transactional(async (em) => {
    const workspace = await lockWorkspace(em, id);
    if (!workspace) {
      throw unknownWorkspace(id);
    }

    if (workspace.deletedAt) {
      return;
    }

    workspace.deletedAt = at;
    await lockChannels(em, id);
    await eraseChannels(em, id, at);
    const own = { workspaceId: id };
    const disabled = { disabledAt: at, disabledReason: 'requested' } as const;
    await em.nativeUpdate(WebhookEndpoint, { ...own, disabledAt: null }, disabled);
    await em.nativeUpdate(ApiKey, { ...own, revokedAt: null }, { revokedAt: at });
    await recordAudit(em, { ...origin, ...own }, 'workspace.deleted', id);
  });
}

/** Locks a workspace against its deletion, which gives it no new key. */
async function lockLiving(em: Em, id: string): Promise<Workspace> {
  const workspace = await lockWorkspace(em, id);
  if (!workspace || workspace.deletedAt) {
    throw unknownWorkspace(id);
  }

  return workspace;
}

export const unknownWorkspace = (id: string): AppError =>
  new AppError(
    'not_found',
    `There is no workspace "${id}"; GET /workspaces and "npm run admin -- workspace list" show them.`,
  );

function readName(given: string): string {
  const name = given.trim();
  if (/^[\p{Z}\p{C}]*$/v.test(name)) {
    throw invalid('name', 'The name of a workspace must not be blank.');
  }

  if (
    name.length > longestWorkspaceName ||
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/v.test(name) ||
    !name.isWellFormed()
  ) {
    const message = `A workspace's name has at most ${longestWorkspaceName} characters, and no control characters.`;
    throw invalid('name', message);
  }

  return name;
}

function readPlan(given: string | null): string | null {
  if (given !== null && !/^[a-z][a-z0-9\-]{0,49}$/v.test(given)) {
    throw invalid(
      'plan',
      `A plan is a word of at most 50 lower-case letters, digits and hyphens, or "none"; not "${given}".`,
    );
  }

  return given === 'none' ? null : given;
}

const readBrand = (given: Partial<Brand>): Partial<Brand> =>
  Object.fromEntries(
    brandFieldNames
      .filter((field) => given[field] !== undefined)
      .map((field) => [field, readBrandField(field, given[field])]),
  );

function readBrandField<T extends string | null | undefined>(field: keyof Brand, given: T) {
  if (given === undefined || given === null) {
    return given;
  }

  const { form, read } = brandFields[field];
  const value = read(given);
  if (value === null) {
    const message = `The field ${field} of a brand must be ${form}, or null for the value of the settings; not "${given}".`;
    throw invalid(`brand/${field}`, message);
  }

  return value;
}

const invalid = (field: string, message: string): AppError =>
  wrongValue(`/${field}`, message, message);
