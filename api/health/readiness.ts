import { sql } from 'kysely';
import type { Orm } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { lastPolls } from '../../temporal/last-polls.ts';

/** In milliseconds: what does not answer in this time is not ready. */
const deadlineMs = 2000;

/** A worker asks for work at least once a minute; one that has not for longer is gone. In milliseconds. */
const pollerAgeMs = 75_000;

/** `ok`, or what is wrong in a few words. */
export type Readiness = {
  readonly postgresql: string;
  readonly temporal: string;
  readonly worker: string;
};

/** Whether a post that is scheduled now would go out: all parts are asked, side by side. */
export async function readiness(
  orm: Orm,
  temporal: Temporal,
  gate: DatabaseGate,
): Promise<Readiness> {
  const [postgresql, pollers] = await Promise.all([
    askDatabase(orm, gate),
    lastPolls(temporal, deadlineMs),
  ]);
  if (pollers === null) {
    return { postgresql, temporal: 'does not answer', worker: 'unknown' };
  }

  const alive = pollers.some((lastSeenMs) => Date.now() - lastSeenMs < pollerAgeMs);
  return { postgresql, temporal: 'ok', worker: alive ? 'ok' : 'none polls' };
}

async function askDatabase(orm: Orm, gate: DatabaseGate): Promise<string> {
  const late = AbortSignal.timeout(deadlineMs);
  const timeout = new Promise<string>((resolve) => {
    late.addEventListener('abort', () => resolve('does not answer'));
  });
  // A table, since without its schema the database is not ready.
  const answer = query(orm.em.fork(), sql`select 1 from workspaces limit 1`).then(
    () => (gate.isOpen() ? 'ok' : 'is being prepared'),
    () => 'does not answer',
  );
  return Promise.race([answer, timeout]);
}

/** Stands before the database until that is prepared: it has its schema, and this process the right SECRET_KEY. */
export type DatabaseGate = {
  readonly isOpen: () => boolean;
  readonly open: () => void;
  /** @throws AppError `unavailable` while the gate is closed. */
  readonly assertOpen: () => void;
};

export function createDatabaseGate(): DatabaseGate {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    open: () => {
      isOpen = true;
    },
    assertOpen: () => {
      if (!isOpen) {
        throw new AppError('unavailable', 'The database is being prepared. Try again.');
      }
    },
  };
}
