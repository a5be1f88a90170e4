import { sql, type RawBuilder } from 'kysely';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

/** Where a change came from. */
export type Origin = {
  /** Set for a call with an operator key. */
  readonly operatorKeyId?: string;
  /** The `X-Request-Id` of the call. */
  readonly requestId?: string;
  /** The client's IP address. */
  readonly address?: string;
};

/** The author of a change in a workspace. Without a key and a link it is the operator. */
export type Actor = Origin & {
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
 * Records a change. Call it in the transaction of the change, so that neither exists without the other.
 *
 * @param objectIds The changed objects, one row each.
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

/**
 * SQL: the same, as a part of the statement that makes the change.
 *
 * @param made A table with the ids of the new rows and of the changed objects.
 */
export const insertAudit = (
  { workspaceId, keyId, linkId, operatorKeyId, requestId, address }: Actor,
  action: AuditAction,
  made: RawBuilder<unknown>,
): RawBuilder<unknown> => {
  const type: (typeof actorTypes)[number] = keyId ? 'key' : linkId ? 'connect_link' : 'operator';
  return sql`
    insert into audit_log (id, workspace_id, at, actor, actor_id, action, object_id, request_id, address)
    select made.id, ${workspaceId}::uuid, clock_timestamp(), ${type}::text, ${keyId ?? linkId ?? operatorKeyId ?? null}::uuid,
      ${action}::text, made.object_id, ${requestId ?? null}::text, ${address ?? null}::text
    from ${made} as made (id, object_id)`;
};
