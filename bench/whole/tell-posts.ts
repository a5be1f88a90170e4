import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Orm } from '../../db/orm.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import type { SeededPost } from './seed-posts.ts';

/** How many are told of at once: a dev server that is asked for more answers none of them in time. */
const atOnce = 5;

/** Tells Temporal of posts as the API does, until it has taken all of them. */
export async function tellPosts(
  client: Client,
  orm: Orm,
  posts: readonly SeededPost[],
): Promise<void> {
  const left = [...posts];
  const tell = async (): Promise<void> => {
    for (let post = left.shift(); post; post = left.shift()) {
      const { workspaceId, postId, dueAtMs } = post;
      const dueAt = new Date(dueAtMs).toISOString();
      const row = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
      while (
        !(await syncPost(client, orm.em.fork(), row).then(
          () => true,
          () => false,
        ))
      ) {
        await sleep(500);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, tell));
}
