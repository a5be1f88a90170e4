import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';

/** An event as a reader sees it: its body, and the fields that the body lacks. */
export type EventView = {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly workspace_id: string;
  readonly data: { readonly [name: string]: Json };
  readonly post_id: string | null;
  readonly channel_id: string | null;
};

export type EventRow = Pick<EventView, 'post_id' | 'channel_id'> & {
  readonly body: string;
  /** Null before a list has numbered it. */
  readonly sequence: number | null;
};

export const presentEvent = <Row extends EventRow>({
  body,
  sequence,
  post_id,
  channel_id,
}: Row): EventView & { readonly sequence: Row['sequence'] } => {
  const { id, type, created_at, workspace_id, data } = JSON.parse(body) as EventView;
  return { id, type, created_at, workspace_id, data, sequence, post_id, channel_id };
};

/** @returns the event with its body as endpoints get it, byte for byte. @throws AppError `not_found` */
export async function readEvent(
  em: Em,
  workspaceId: string,
  id: string,
): Promise<EventView & Pick<EventRow, 'sequence' | 'body'>> {
  const [row] = await query(
    em,
    sql<EventRow>`
      select body, sequence::float8 as sequence, post_id, channel_id from events
      where id = ${id} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    throw new AppError('not_found', `There is no event "${id}". Events are deleted after a time.`);
  }

  return { ...presentEvent(row), body: row.body };
}
