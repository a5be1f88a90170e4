import { sumAllMetrics } from '../../../support/sum-all-metrics.ts';
import { CompiledQuery } from 'kysely';
import type { Em, Orm } from '../../../../db/orm.ts';
import { newId } from '../../../../db/new-id.ts';
import type { Change } from './changes.ts';

export type Ground = {
  readonly orm: Orm;
  readonly workspaceId: string;
  readonly channels: readonly string[];
};

/** Empties the workspace. */
export async function clear({ orm, workspaceId }: Ground): Promise<void> {
  for (const table of ['post_channels', 'posts']) {
    await orm.em.fork().execute(`delete from ${table} where workspace_id = ?`, [workspaceId]);
  }
}

export async function apply(ground: Ground, changes: readonly Change[]): Promise<void> {
  for (const change of changes) {
    if (change.kind === 'undone') {
      await undone(ground, change);
    } else {
      await applyOne(ground.orm.em.fork(), ground, change);
    }
  }
}

/** Applies the changes in a transaction that does not commit. */
async function undone(ground: Ground, { by, changes }: Change & { kind: 'undone' }): Promise<void> {
  const { orm } = ground;
  const em = orm.em.fork();
  try {
    await em.transactional(async (own) => {
      for (const change of changes) {
        await applyOne(own, ground, change);
      }

      if (by === 'rollback') {
        throw new Error('Undone.');
      }

      const [self] = await own.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
      await orm.em.fork().execute('select pg_terminate_backend(?)', [self?.pid]);
      await own.execute('select 1');
    });
  } catch {
    return;
  }

  throw new Error('It was committed.');
}

type Edit = Exclude<Change, { kind: 'undone' }>;

async function applyOne(em: Em, ground: Ground, change: Edit): Promise<void> {
  const [sql, values] = change.kind === 'post' ? store(ground, change) : alter(ground, change);
  let number = 0;
  const numbered = sql.replaceAll('?', () => `$${(number += 1)}`);
  await em.getKysely().executeQuery(CompiledQuery.raw(numbered, values));
  await sumAllMetrics(em, ground.workspaceId);
}

function store(
  { workspaceId, channels }: Ground,
  { on }: Edit & { kind: 'post' },
): [string, unknown[]] {
  const rows = on.map(({ channel, metrics, at, status }, position) => ({
    id: newId(),
    channel_id: channels[channel],
    position,
    status,
    published_at: at,
    metrics,
    metrics_updated_at: metrics && '2027-01-04T00:00:00.000Z',
  }));
  return [
    `with post as (
       insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
       values (?, ?, 'x', 'published', now(), now(), now()) returning id, workspace_id
     )
     insert into post_channels
       (id, workspace_id, post_id, channel_id, position, status, published_at, metrics, metrics_updated_at)
     select r.id, post.workspace_id, post.id, r.channel_id, r.position, r.status, r.published_at,
       nullif(r.metrics, 'null'), r.metrics_updated_at
     from post, jsonb_to_recordset(?::jsonb) as r (id uuid, channel_id uuid, position int, status text,
       published_at timestamptz, metrics jsonb, metrics_updated_at timestamptz)`,
    [newId(), workspaceId, JSON.stringify(rows)],
  ];
}

function alter(
  { workspaceId }: Ground,
  change: Exclude<Edit, { kind: 'post' }>,
): [string, unknown[]] {
  if (change.kind === 'read-all') {
    const set = 'update post_channels set metrics = ?::jsonb, metrics_updated_at = now()';
    return [
      `${set} where workspace_id = ? and status = 'published'`,
      [JSON.stringify(change.metrics), workspaceId],
    ];
  }

  const which = `(
    select id from (select id, row_number() over (order by id) - 1 as nr, count(*) over () as all_rows
      from post_channels where workspace_id = ?) as rows where nr = ?::int % all_rows)`;
  const row = [workspaceId, change.row];
  const post = `(select post_id from post_channels where id = ${which})`;
  switch (change.kind) {
    case 'read':
      return [
        `update post_channels set metrics = ?::jsonb, metrics_updated_at = case when ?::jsonb is null then null else now() end where id = ${which}`,
        [json(change.metrics), json(change.metrics), ...row],
      ];
    case 'move':
      return [`update post_channels set published_at = ? where id = ${which}`, [change.at, ...row]];
    case 'status':
      return [`update post_channels set status = ? where id = ${which}`, [change.status, ...row]];
    case 'take-off':
      return [`delete from post_channels where id = ${which}`, row];
    case 'take-all-off':
      return [`delete from post_channels where post_id = ${post}`, row];
    case 'delete':
      return [
        `with gone as (select post_id from post_channels where id = ${which}),
           off as (delete from post_channels where post_id in (select post_id from gone))
         delete from posts where id in (select post_id from gone)`,
        row,
      ];
  }
}

const json = (value: object | null): string | null => value && JSON.stringify(value);
