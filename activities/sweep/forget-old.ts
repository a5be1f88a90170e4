import type { ActivityDeps } from '../deps.ts';

const dayMs = 24 * 3_600_000;

/** In one go, so that no statement runs long; what is left goes with the next sweeps. */
const deletedAtOnce = 1000;
const maxRounds = 10;

/**
 * Removes what is older than it is kept (30 days unless set otherwise): what sweeps found, deliveries that have ended with
 * their attempts, and events that
 * nobody can have delivered any more. A delivery that is still being tried stays, and its event with it.
 *
 * @returns how many rows went, attempts not counted.
 */
export async function forgetOld(deps: ActivityDeps): Promise<number> {
  let gone = 0;
  for (const { of, statement } of statements) {
    const before = new Date(deps.now().getTime() - deps.kept[of] * dayMs);
    gone += await inBatches(deps, statement, before);
  }

  return gone;
}

/**
 * Each takes the oldest first, down an index, and passes over rows that somebody else holds: a delivery that is being
 * replayed just now is pending when that is committed. What is to go is an array, so that it is found by its key however
 * large the table is. Of all workspaces: it reads nothing that leaves the database.
 */
const statements: readonly {
  readonly of: keyof ActivityDeps['kept'];
  readonly statement: string;
}[] = [
  {
    of: 'finds',
    statement: `with old as materialized (
     select id from sweep_finds where found_at < ? order by found_at limit ? for update skip locked)
   delete from sweep_finds where id = any (array(select id from old)) returning id`,
  },
  {
    of: 'deliveries',
    statement: `with old as materialized (
     select id from deliveries where status <> 'pending' and created_at < ?
     order by created_at limit ? for update skip locked)
   delete from deliveries where id = any (array(select id from old)) returning id`,
  },
  {
    of: 'deliveries',
    statement: `with old as materialized (
     select e.id from events e
     where e.created_at < ? and not exists (
       select 1 from deliveries d where d.event_id = e.id and d.workspace_id = e.workspace_id)
     order by e.created_at limit ? for update of e skip locked)
   delete from events where id = any (array(select id from old)) returning id`,
  },
];

async function inBatches({ orm }: ActivityDeps, statement: string, before: Date): Promise<number> {
  let gone = 0;
  for (let round = 0; round < maxRounds; round += 1) {
    const deleted = await orm.em.fork().execute<unknown[]>(statement, [before, deletedAtOnce]);
    gone += deleted.length;
    if (deleted.length < deletedAtOnce) {
      break;
    }
  }

  return gone;
}
