import { randomBytes } from 'node:crypto';
import { createDataFileWriter, readDataFile } from './data-file.ts';
import type { NetworkId, Post } from './post.ts';

/** How many posts are kept, both networks together. The oldest go first. */
const maxPosts = 1000;

export type Store = {
  /** Signs Bluesky's tokens. */
  readonly secret: string;
  /** In the order in which they came. */
  all(): readonly Post[];
  find(network: NetworkId, id: string): Post | undefined;
  /** Takes all of them at once, replaces those whose id is known, and resolves when they are on disk. */
  put(posts: readonly Post[]): Promise<void>;
  /** Calls the listener after every change. */
  onChange(listener: () => void): void;
  /** Resolves when everything is on disk. */
  settle(): Promise<void>;
};

/**
 * Opens the posts of both networks.
 *
 * @param dataFile Where they survive a restart; without it they live in memory.
 * @throws Error when the file is there and is not ours.
 */
export async function openStore(dataFile: string | undefined): Promise<Store> {
  const saved = dataFile === undefined ? undefined : await readDataFile(dataFile);
  const secret = saved?.secret ?? randomBytes(32).toString('base64url');
  const posts = new Map((saved?.posts ?? []).map((post) => [keyOf(post.network, post.id), post]));
  const listeners: (() => void)[] = [];
  const save =
    dataFile === undefined
      ? () => Promise.resolve()
      : createDataFileWriter(dataFile, () => ({ secret, posts: [...posts.values()] }));
  await save(); // A path that cannot be written is found at the start, not at the first post.

  return {
    secret,
    all: () => [...posts.values()],
    find: (network, id) => posts.get(keyOf(network, id)),
    put(added) {
      for (const post of added) {
        posts.set(keyOf(post.network, post.id), post);
      }
      for (const oldest of posts.keys()) {
        if (posts.size <= maxPosts) {
          break;
        }
        posts.delete(oldest);
      }
      for (const listener of listeners) {
        listener();
      }
      return save();
    },
    onChange: (listener) => {
      listeners.push(listener);
    },
    settle: save,
  };
}

function keyOf(network: NetworkId, id: string): string {
  return `${network}/${id}`;
}
