import type { Em } from '../../db/orm.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';
import { giveUpOwnerless, removeLost } from './unsettled-files.ts';

/** About how many stored files one sweep looks at. */
const mostAtATime = 10_000;

/** Of `newId`: the first 48 bits of a UUIDv7 are when it was made. */
const ourKey = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v;

const madeAtMs = (key: string): number => Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);

/**
 * Removes stored files of which the database does not know, a part of the storage each time: where the last
 * comparison ended the next one goes on.
 *
 * Only files that are a day old and younger than this database are compared. A new database before an old storage
 * knows none of its files, which is no reason to remove them.
 */
export async function compareStorage(deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>): Promise<void> {
  const { orm, log, media } = deps;
  const em = orm.em.fork();
  const { begin, end } = await comparedTimes(em);
  let position = await positionOf(em);
  for (let seen = 0; seen < mostAtATime;) {
    const { keys, next, obstacle } = await media.storage.list(position);
    if (obstacle !== undefined) {
      log.warn({ error: describeError(obstacle) }, 'a part of the media storage is not compared');
    }

    const compared = keys.filter(
      (key) => ourKey.test(key) && madeAtMs(key) > begin && madeAtMs(key) < end,
    );
    const lost = await giveUpOwnerless(em, compared);
    if (lost.length > 0) {
      log.warn({ files: lost }, 'stored files that the database does not know are removed');
      await removeLost(deps, lost);
    }

    await setPosition(em, next);
    if (next === null) {
      return;
    }

    position = next;
    seen += Math.max(1, keys.length);
  }
}

/** In milliseconds since 1970, by the database's clock. */
async function comparedTimes(em: Em): Promise<{ begin: number; end: number }> {
  const [times] = await em.execute<{ begin: number; end: number }[]>(
    `select (extract(epoch from min(executed_at)) * 1000)::float8 as begin,
       (extract(epoch from now() - interval '1 day') * 1000)::float8 as end
     from migrations`,
  );
  return times ?? { begin: Number.POSITIVE_INFINITY, end: 0 };
}

const sweep = 'media storage';

async function positionOf(em: Em): Promise<string | null> {
  const [row] = await em.execute<{ position: string }[]>(
    'select position from sweep_positions where sweep = ?',
    [sweep],
  );
  return row?.position ?? null;
}

/** Two processes may compare at once: both do the same, and the later position counts. */
async function setPosition(em: Em, position: string | null): Promise<void> {
  await (position === null
    ? em.execute('delete from sweep_positions where sweep = ?', [sweep])
    : em.execute(
        `insert into sweep_positions (sweep, position) values (?, ?)
         on conflict (sweep) do update set position = excluded.position`,
        [sweep, position],
      ));
}
