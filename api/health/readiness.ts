import type { Orm } from '../../db/orm.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { lastPolls } from '../../temporal/last-polls.ts';
import type { Readiness } from '../deps.ts';
import type { DatabaseGate } from '../http/database-gate.ts';

/** In milliseconds: what does not answer in this time is not ready. */
const deadlineMs = 2000;

/** A worker asks for work at least once a minute; one that has not for longer is gone. In milliseconds. */
const pollerAgeMs = 75_000;

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
  const answer = orm.em
    .fork()
    .execute('select 1 from workspaces limit 1') // A table, since without its schema it is not ready.
    .then(
      () => (gate.isOpen() ? 'ok' : 'is being prepared'),
      () => 'does not answer',
    );
  return Promise.race([answer, timeout]);
}
