import path from 'node:path';
import { readDataFile } from '../../../sandbox/data-file.ts';
import { isRefused, type SandboxPost } from '../../../sandbox/post.ts';
import { networkOf, networks } from '../../../sandbox/registry.ts';
import { startSandbox } from '../../../sandbox/server.ts';
import type { ExecutionContext } from 'ava';
import type { Directive } from '../../../sandbox/directives.ts';
import type { SandboxGrant } from '../../../sandbox/oauth/grant.ts';
import type { Platform } from '../plan/platforms.ts';

/** A network with one account, played by the sandbox. */
export type PlayedServer = {
  readonly url: string;
  /** Sets the directive for the next request. @param seconds The value of `lifetime`. */
  order(directive: Directive, seconds?: number): Promise<void>;
  /** The grants of all apps, oldest first, read from the sandbox's data file. */
  grants(): Promise<readonly SandboxGrant[]>;
  /** All posts, oldest first, read from the sandbox's data file. */
  posts(): Promise<PlayedPost[]>;
};

export type PlayedPost = Pick<SandboxPost, 'id' | 'text' | 'replyTo'> & {
  /** The path of its page. */
  readonly path: string;
  readonly files: readonly { readonly type: string; readonly altText: string }[];
};

/** @param name The name of the sandbox's data file. */
export async function startPlayedServer(
  t: ExecutionContext,
  platform: Platform,
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<PlayedServer> {
  const dataFile = path.join(folder, 'sandboxes', `${name}.json`);
  const { url, close } = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    dataFile,
    halfLifeMs: 60_000, // So that metrics grow between two reads of a run.
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
        throw new Error(`The sandbox rejected "${directive}" for ${platform}: ${status}`);
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

const isPlain = (post: SandboxPost, platform: Platform): boolean =>
  post.network === platform && !isRefused(post);

function playedPost(post: SandboxPost): PlayedPost {
  const network = networkOf(post);
  const { id, text, replyTo } = post;
  return { id, text, replyTo, path: network.pathOf(post), files: network.show(post).files };
}
