import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { AppError } from '../../domain/errors.ts';
import { WebhookEndpoint, type DeliveryStatus } from '../entities/webhooks.ts';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';

export type LastDelivery = Pick<WebhookEndpoint, 'id'> & {
  readonly status: DeliveryStatus;
  readonly created_at: Date;
  readonly response_status: number | null;
  readonly error: string | null;
};

/** Finds the newest delivery of each of these endpoints that has one, with one index lookup per endpoint. */
export const findLastDeliveries = (
  em: Em,
  workspaceId: string,
  ids: readonly string[],
): Promise<LastDelivery[]> =>
  queryPlanned<LastDelivery>(
    em,
    sql`select w.id, d.status, d.created_at, a.response_status, coalesce(d.error, a.error) as error
      from webhook_endpoints w
      join lateral (
        select id, status, created_at, error from deliveries
        where endpoint_id = w.id and workspace_id = w.workspace_id
        order by created_at desc, id desc limit 1) d on true
      left join lateral (
        select response_status, error from delivery_attempts
        where delivery_id = d.id and workspace_id = w.workspace_id
        order by number desc limit 1) a on true
      where w.workspace_id = ${workspaceId} and w.id = any(${ids}::uuid[])`,
  );

/** Holds an endpoint against its deletion until the transaction ends. Attempts may still change it. */
export async function holdEndpoint(
  em: Em,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpoint> {
  await query(
    em,
    sql`select 1 from webhook_endpoints where id = ${id} and workspace_id = ${workspaceId} for key share`,
  );
  return findEndpoint(em, workspaceId, id);
}

export async function findEndpoint(
  em: Em,
  workspaceId: string,
  id: string,
  lockMode = LockMode.NONE,
): Promise<WebhookEndpoint> {
  const endpoint = await em.findOne(WebhookEndpoint, { id, workspaceId }, { lockMode });
  if (!endpoint) {
    throw unknownEndpoint(id);
  }

  return endpoint;
}

export const lockEndpoint = (em: Em, workspaceId: string, id: string): Promise<WebhookEndpoint> =>
  findEndpoint(em, workspaceId, id, LockMode.PESSIMISTIC_WRITE);

export const unknownEndpoint = (id: string): AppError =>
  new AppError('not_found', `There is no webhook endpoint "${id}".`);
