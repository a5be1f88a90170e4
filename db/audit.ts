import { sql, type RawBuilder } from 'kysely';
import type { KeyHolder } from '../domain/api-keys.ts';
import { causesOf } from '../domain/errors.ts';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';
import { query, queryPlanned } from './query.ts';

/** Where a change came from. */
export type Origin = {
  readonly operatorKeyId?: string;
  /** The `X-Request-Id` of the call. */
  readonly requestId?: string;
  /** The client's IP address. */
  readonly address?: string;
};

/** The author of a change in a workspace. Without a key and a link it is the operator. */
export type Actor = Origin &
  Partial<KeyHolder> & {
    readonly workspaceId: string;
    readonly keyId?: string;
    /** A person with this connect link. */
    readonly linkId?: string;
  };

export const actorTypes = ['key', 'connect_link', 'operator'] as const;

/** The recorded changes. The part before the dot is the type of the object. */
export const auditActions = [
  'post.created',
  'post.edited',
  'post.cancelled',
  'post.retried',
  'post.settled',
  'post.deleted',
  'post.unpublished',
  'media.uploaded',
  'media.edited',
  'media.deleted',
  'channel.connected',
  'channel.edited',
  'channel.disconnected',
  'connect_link.created',
  'webhook.created',
  'webhook.edited',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.tested',
  'webhook.replayed',
  'delivery.replayed',
  'workspace.created',
  'workspace.edited',
  'workspace.deleted',
  'key.created',
  'key.edited',
  'key.revoked',
] as const;
export type AuditAction = (typeof auditActions)[number];

/**
 * Records a change, in its transaction. It holds the caller's key until the commit, and fails with an error that
 * `isKeyLost` recognizes when the key has ended or lost a right since its call began.
 */
export async function recordAudit(
  em: Em,
  actor: Actor,
  action: AuditAction,
  ...objectIds: readonly string[]
): Promise<void> {
  if (objectIds.length > 0) {
    const ids = objectIds.map(() => newId());
    const made = sql`unnest(${ids}::uuid[], ${objectIds}::uuid[])`;
    await query(em, insertAudit(actor, action, made));
  }
}

/** SQL: the same in the statement of the change. @param made A table with the ids of new rows and changed objects. */
export const insertAudit = (
  actor: Actor,
  action: AuditAction,
  made: RawBuilder<unknown>,
): RawBuilder<unknown> => {
  const { workspaceId, keyId, linkId, operatorKeyId, requestId, address } = actor;
  return sql`
    insert into audit_log (id, workspace_id, at, actor, actor_id, action, object_id, request_id, address)
    select made.id, ${workspaceId}::uuid, clock_timestamp(), ${actorType(actor)}, ${keyId ?? linkId ?? operatorKeyId ?? null}::uuid,
      ${action}::text, made.object_id, ${requestId ?? null}::text, ${address ?? null}::text
    from ${made} as made (id, object_id)`;
};

/** SQL: whether a key, of a workspace or an operator, works now. */
export const isUsableKey =
  'revoked_at is null and (expires_at is null or expires_at > clock_timestamp())';
const isUsable = sql.raw(isUsableKey);

/** SQL: null, which the column refuses, when the key may no longer do what it could when its call was admitted. */
function actorType(actor: Actor): RawBuilder<unknown> {
  const { workspaceId, keyId, linkId, operatorKeyId, scopes = [], channelIds = null } = actor;
  if (keyId !== undefined) {
    return sql`(select 'key' from api_keys where id = ${keyId} and workspace_id = ${workspaceId} and ${isUsable}
      and (scopes is null or scopes @> ${scopes}::text[])
      and (channel_ids is null or channel_ids @> ${channelIds}::uuid[]) for share)`;
  }

  return operatorKeyId === undefined
    ? sql.lit(linkId === undefined ? 'operator' : 'connect_link')
    : sql`(select 'operator' from operator_keys where id = ${operatorKeyId} and ${isUsable} for share)`;
}

export const isKeyLost = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      'code' in cause && cause.code === '23502' && 'table' in cause && cause.table === 'audit_log',
  );

export type AuditRow = {
  readonly id: string;
  readonly at: Date;
  readonly actor: (typeof actorTypes)[number];
  readonly actor_id: string | null;
  readonly last_four: string | null;
  readonly action: AuditAction;
  readonly object_id: string;
  readonly request_id: string | null;
  readonly address: string | null;
};

type AuditFilter = {
  readonly action?: AuditAction | undefined;
  readonly objectId?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** The last entry of the page before. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
};

/** Selects the changes in a workspace, newest first, each with the end of its key. */
export function selectAudit(
  em: Em,
  workspaceId: string,
  { action, objectId, from, to, after, limit }: AuditFilter,
): Promise<AuditRow[]> {
  const none = sql``;
  return queryPlanned<AuditRow>(
    em,
    sql`select a.id, a.at, a.actor, a.actor_id, coalesce(k.last_four, o.last_four) as last_four, a.action,
        a.object_id, a.request_id, a.address
      from audit_log a left join api_keys k on k.id = a.actor_id and k.workspace_id = a.workspace_id
        left join operator_keys o on o.id = a.actor_id
      where a.workspace_id = ${workspaceId}
        ${action === undefined ? none : sql`and a.action = ${action}`}
        ${objectId === undefined ? none : sql`and a.object_id = ${objectId}`}
        ${from ? sql`and a.at >= ${from}` : none}
        ${to ? sql`and a.at < ${to}` : none}
        ${after ? sql`and (a.at, a.id) < (${after.createdAt}, ${after.id})` : none}
      order by a.at desc, a.id desc limit ${limit}`,
  );
}
