import { sql } from 'kysely';
import { recordAudit, type Origin } from '../../db/audit.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { bytesOfText } from '../../db/quotas.ts';
import { brandFieldNames, brandFields, type Brand } from '../../domain/brand.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
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

/** @returns its id. @throws AppError `invalid_request` */
export async function storeWorkspace(
  em: Em,
  origin: Origin,
  { name, plan = 'standard', quotas = {}, brand = null }: WorkspaceEdit & { readonly name: string },
): Promise<string> {
  const known = readName(name);
  const own = Object.fromEntries(Object.entries(quotas).filter(([, limit]) => limit !== null));
  const ownBrand = readBrand(brand ?? {});
  const id = newId();
  return em.transactional(async (tx) => {
    await query(
      tx,
      sql`insert into workspaces (id, name, plan, quotas, brand, created_at)
        values (${id}, ${known}, ${readPlan(plan)}, ${JSON.stringify(own)}::jsonb,
          jsonb_strip_nulls(${ownBrand}::jsonb), now())`,
    );
    await recordAudit(tx, { ...origin, workspaceId: id }, 'workspace.created', id);
    return id;
  });
}

/**
 * Changes a workspace. A limit below the use removes nothing and stops no post; it only refuses new ones, from the next
 * call on. Without a plan, creating, changing and retrying posts fails; scheduled posts are still published.
 *
 * @throws AppError `not_found`, `invalid_request`
 */
export async function editWorkspace(
  em: Em,
  origin: Origin,
  id: string,
  { name, plan, quotas = {}, brand }: WorkspaceEdit,
): Promise<void> {
  const sets = [
    ...(name === undefined ? [] : [sql`name = ${readName(name)}`]),
    ...(plan === undefined ? [] : [sql`plan = ${readPlan(plan)}`]),
    ...(brand === null ? [sql`brand = '{}'`] : []),
    ...(brand ? [sql`brand = jsonb_strip_nulls(brand || ${readBrand(brand)}::jsonb)`] : []),
    sql`quotas = jsonb_strip_nulls(quotas || ${JSON.stringify(quotas)}::jsonb)`,
    ...(Object.keys(quotas).length > 0 ? [sql`text_used = (${bytesOfText(id)})`] : []),
  ];
  await em.transactional(async (tx) => {
    await lockWorkspace(tx, id);
    await query(tx, sql`update workspaces set ${sql.join(sets)} where id = ${id}`);
    await recordAudit(tx, { ...origin, workspaceId: id }, 'workspace.edited', id);
  });
}

/** Creates an API key, with all rights unless some are given. @throws AppError `not_found` */
export async function storeWorkspaceKey(
  em: Em,
  origin: Origin,
  workspaceId: string,
  rights: Partial<NewKey> = {},
): Promise<CreatedKey> {
  const all = { name: null, scopes: null, channelIds: null, expiresAt: null };
  return em.transactional(async (tx) => {
    await lockWorkspace(tx, workspaceId);
    const created = await storeKey(tx, workspaceId, { ...all, ...rights });
    await recordAudit(tx, { ...origin, workspaceId }, 'key.created', created.key.id);
    return created;
  });
}

/**
 * Ends a workspace: from the commit on its keys and links are refused, and no post and no webhook of it is sent, because
 * the secrets of its accounts are erased. The sweep deletes its rows and files (`activities/sweep/purge-workspaces.ts`).
 * A repeated call changes nothing.
 *
 * Locks in the order in which accounts are connected: the workspace, its channels, their grants and links. Keys are
 * last, because each change holds the caller's key when it is recorded.
 *
 * @throws AppError `not_found`
 */
export async function deleteWorkspace(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  origin: Origin,
  id: string,
): Promise<void> {
  const own = sql`workspace_id = ${id}`;
  const at = now();
  await orm.em.fork().transactional(async (em) => {
    const [found] = isId(id)
      ? await query(
          em,
          sql<{ deleted_at: Date | null }>`select deleted_at from workspaces
            where id = ${id} and purged_at is null for no key update`,
        )
      : [];
    if (!found) {
      throw unknownWorkspace(id);
    }

    if (found.deleted_at) {
      return;
    }

    await query(em, sql`update workspaces set deleted_at = ${at} where id = ${id}`);
    await query(em, sql`select id from channels where ${own} order by id for update`);
    await query(
      em,
      sql`update channels set disconnected_at = coalesce(disconnected_at, ${at}), state = 'needs_reconnect',
          error = null, options = null, sealed_credentials = '', sealed_session = null, updated_at = ${at}
        where ${own}`,
    );
    await query(em, sql`delete from channel_grants where ${own}`);
    await query(em, sql`delete from connect_links where ${own}`);
    await query(
      em,
      sql`update webhook_endpoints set disabled_at = ${at}, disabled_reason = 'requested'
        where ${own} and disabled_at is null`,
    );
    await query(
      em,
      sql`update api_keys set revoked_at = ${at} where ${own} and revoked_at is null`,
    );
    await recordAudit(em, { ...origin, workspaceId: id }, 'workspace.deleted', id);
  });
}

/** Locks a workspace against its deletion, which gives it no new key. @throws AppError `not_found` */
async function lockWorkspace(em: Em, id: string): Promise<void> {
  const found = isId(id)
    ? await query(
        em,
        sql`select id from workspaces where id = ${id} and deleted_at is null for no key update`,
      )
    : [];
  if (found.length === 0) {
    throw unknownWorkspace(id);
  }
}

export const unknownWorkspace = (id: string): AppError =>
  new AppError(
    'not_found',
    `There is no workspace "${id}"; GET /workspaces and "npm run admin -- workspace list" show them.`,
  );

/** @throws AppError `invalid_request` */
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

/** @throws AppError `invalid_request` */
function readPlan(given: string | null): string | null {
  if (given !== null && !/^[a-z][a-z0-9\-]{0,49}$/v.test(given)) {
    throw invalid(
      'plan',
      `A plan is a word of at most 50 lower-case letters, digits and hyphens, or "none"; not "${given}".`,
    );
  }

  return given === 'none' ? null : given;
}

/** The normal form of the given fields, in JSON, which leaves out the others. @throws AppError `invalid_request` */
const readBrand = (given: Partial<Brand>): string =>
  JSON.stringify(
    Object.fromEntries(
      brandFieldNames.map((field) => [field, readBrandField(field, given[field])]),
    ),
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
  new AppError('invalid_request', message, { details: [{ path: `/${field}`, message }] });
