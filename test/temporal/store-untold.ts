import type { ApiDeps } from '../../api/deps.ts';
import { contentOf } from '../../api/posts/post-content.ts';
import { storePost } from '../../api/posts/store-post.ts';
import { Channel } from '../../db/entities/channel.ts';
import { newId } from '../../db/new-id.ts';
import { rulesOf } from '../../networks/rules.ts';
import type { Punctual } from '../support/punctual.ts';

/**
 * What an API leaves behind that ends right after its commit: a scheduled post, on all channels of a workspace, that
 * Temporal was never told of.
 *
 * @returns its id.
 */
export async function storeUntold(
  { orm, deps }: Punctual,
  workspaceId: string,
  dueAt: string | Date,
): Promise<string> {
  const channels = await orm.em.fork().find(Channel, { workspaceId });
  const id = newId();
  const content = contentOf({ body: 'secret words' });
  const post = { id, dueAt: new Date(dueAt), content, mediaIds: [], key: undefined, print: '' };
  const mine = Object.entries(deps.networks).map(([name, network]) => [name, network.rules]);
  const rules = { ...rulesOf, ...Object.fromEntries(mine) };
  const ofTheApi = { ...deps, rules } as unknown as ApiDeps; // No more of them is used.
  await storePost(ofTheApi, workspaceId, channels, post, []);
  return id;
}
