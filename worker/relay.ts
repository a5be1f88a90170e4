import type { Client } from '@temporalio/client';
import type { Orm } from '../db/orm.ts';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { isTemporalAway } from '../temporal/is-away.ts';
import { syncPost } from '../temporal/sync-post.ts';

export type RelayDeps = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

/** How often the outbox is looked at, in milliseconds. */
const intervalMs = 1000;

/** How many rows are told of in one go. */
const batchSize = 20;

type Row = {
  id: string;
  workspace_id: string;
  status: string;
  revision: number;
  scheduled_at: string | Date | null;
};

/**
 * Repeats to Temporal what the API could not tell it: every post whose `synced_revision` lags behind, until
 * none is left. Several workers share the work by the rows' locks.
 *
 * @returns how many posts Temporal was told of.
 */
export async function relayOnce({ orm, client, log }: RelayDeps): Promise<number> {
  return orm.em.fork().transactional(async (em) => {
    const rows = await em.execute<Row[]>(
      `select id, workspace_id, status, revision, scheduled_at from posts
       where synced_revision < revision order by updated_at limit ? for update skip locked`,
      [batchSize],
    );
    let told = 0;
    for (const row of rows) {
      try {
        await syncPost(client, em, {
          workspaceId: row.workspace_id,
          postId: row.id,
          status: row.status,
          revision: row.revision,
          dueAt: row.scheduled_at === null ? null : new Date(row.scheduled_at).toISOString(),
        });
        told += 1;
      } catch (error) {
        log.warn(
          { post: row.id, error: describeError(error) },
          'Temporal could not be told of a post',
        );
        if (isTemporalAway(error)) {
          break; // Let go of the rows and come back later.
        }
        // It is this post that Temporal does not take: the others must not wait for it.
      }
    }

    return told;
  });
}

/** Runs the relay until the returned function is called, which resolves when the last look is over. */
export function startRelay(deps: RelayDeps): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    let told = 0;
    try {
      told = await relayOnce(deps);
    } catch (error) {
      deps.log.warn({ error: describeError(error) }, 'the outbox could not be read');
    }

    if (!stopped) {
      timer = setTimeout(next, told === batchSize ? 0 : intervalMs);
    }
  };
  let running = look();
  const next = (): void => {
    running = look();
  };

  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
