import path from 'node:path';
import { readDataFile } from '../../../sandbox/data-file.ts';
import { isRefused, type Post } from '../../../sandbox/post.ts';
import { networkOf, networks } from '../../../sandbox/registry.ts';
import { startSandbox } from '../../../sandbox/server.ts';
import type { ExecutionContext } from 'ava';
import type { Directive } from '../../../sandbox/directives.ts';
import type { Grant } from '../../../sandbox/oauth/grant.ts';
import type { SandboxPlatform } from '../plan/platforms.ts';

/** A network with one account, as the sandbox plays it. */
export type PlayedServer = {
  readonly url: string;
  /** What the network is to do to the next request. @param seconds Of `lifetime`. */
  order(directive: Directive, seconds?: number): Promise<void>;
  /** What apps were allowed to do, in the order of that: read where the sandbox keeps it. */
  grants(): Promise<readonly Grant[]>;
  /** All that is on it, in the order in which it came: read where the sandbox keeps it. */
  posts(): Promise<PlayedPost[]>;
};

export type PlayedPost = Pick<Post, 'id' | 'text' | 'replyTo'> & {
  /** Of its page, from the origin on. */
  readonly path: string;
  readonly files: readonly { readonly type: string; readonly altText: string }[];
};

/** @param name Of the file in the folder in which it keeps its posts. */
export async function startPlayedServer(
  t: ExecutionContext,
  platform: SandboxPlatform,
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<PlayedServer> {
  const dataFile = path.join(folder, 'sandboxes', `${name}.json`);
  const { url, close } = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    dataFile,
    halfLifeMs: 60_000, // So that they grow between two reads of a run.
  });
  t.teardown(close);
  return {
    url,
    order: async (directive, seconds) => {
      const { status } = await fetch(`${url}/control`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ platform, directive, count: 1, seconds }),
      });
      if (status !== 200) {
        throw new Error(`The sandbox did not take "${directive}" for ${platform}: ${status}`);
      }
    },
    grants: async () => (await readDataFile(dataFile, schemas))?.grants ?? [],
    posts: async () => {
      const saved = await readDataFile(dataFile, schemas);
      return (saved?.posts ?? []).filter((post) => isPlain(post, platform)).map(playedPost);
    },
  };
}

const schemas = Object.fromEntries(networks.map(({ id, postSchema }) => [id, postSchema]));

const isPlain = (post: Post, platform: SandboxPlatform): boolean =>
  post.network === platform && !isRefused(post);

function playedPost(post: Post): PlayedPost {
  const network = networkOf(post);
  const { id, text, replyTo } = post;
  return { id, text, replyTo, path: network.pathOf(post), files: network.show(post).files };
}
