import { randomBytes } from 'node:crypto';
import { createDataFileWriter, readDataFile, type PostSchemas, type Saved } from './data-file.ts';
import { dropOldest } from './drop-oldest.ts';
import type { Grant } from './oauth/grant.ts';
import type { RegisteredApp } from './oauth/registered-app.ts';
import { isRefused, type Post, type RefusedPost } from './post.ts';
import type { Shelf } from './shelf.ts';

/** What look-ups show in place of the text of a post that was altered. */
export const alteredText = 'This is not the text that was sent.';

/** How many posts are kept, all networks together. The oldest go first. */
const maxPosts = 1000;

export type Store = {
  /** Signs tokens. */
  readonly secret: string;
  /** Where grants survive a restart as posts do. */
  readonly grants: Shelf<Grant>;
  /** And the apps that registered themselves at Mastodon. */
  readonly apps: Shelf<RegisteredApp>;
  /** In the order in which they came. */
  all(): readonly Post[];
  find(network: string, id: string): Post | undefined;
  /** All, and the refused ones among them: what the page shows. */
  timeline(): readonly Post[];
  /** Takes all of them at once, replaces those whose id is known, and resolves when they are on disk. */
  put(posts: readonly Post[]): Promise<void>;
  /** Deletes a post, as its owner does on the network, and resolves when that is on disk. */
  remove(post: Post): Promise<void>;
  /** Keeps a post that was refused, for the page. A try more of the same replaces the one before. */
  refuse(post: Omit<RefusedPost, 'id'>): Promise<void>;
  /** Look-ups of a network do not show these posts before an instant. */
  hide(posts: readonly Post[], untilMs: number): void;
  isHidden(post: Post): boolean;
  /** Look-ups of a network show these posts otherwise than they were sent before an instant. */
  alter(posts: readonly Post[], untilMs: number): void;
  isAltered(post: Post): boolean;
  /** Calls the listener after every change. */
  onChange(listener: () => void): void;
  /** Resolves when everything is on disk. */
  settle(): Promise<void>;
};

/**
 * Opens the posts of all networks.
 *
 * @param dataFile Where they survive a restart; without it they live in memory.
 * @param schemas Check what the file holds.
 * @param now Milliseconds since 1970.
 * @throws Error when the file is there and is not ours.
 */
export async function openStore(
  dataFile: string | undefined,
  schemas: PostSchemas,
  now: () => number,
): Promise<Store> {
  const saved = dataFile === undefined ? undefined : await readDataFile(dataFile, schemas);
  const secret = saved?.secret ?? randomBytes(32).toString('base64url');
  const posts = new Map((saved?.posts ?? []).map((post) => [keyOf(post), post]));
  const kept: Kept = { grants: saved?.grants, apps: saved?.apps };
  const listeners: (() => void)[] = [];
  const save =
    dataFile === undefined
      ? () => Promise.resolve()
      : createDataFileWriter(dataFile, () => ({ secret, posts: [...posts.values()], ...kept }));
  await save(); // A path that cannot be written is found at the start, not at the first post.
  const changed = (): Promise<void> => {
    for (const listener of listeners) {
      listener();
    }
    return save();
  };
  const put = (added: readonly Post[]): Promise<void> => {
    for (const post of added) {
      posts.set(keyOf(post), post);
    }
    dropOldest(posts, maxPosts);
    return changed();
  };

  return {
    secret,
    ...shelvesOf(kept, save),
    all: () => [...posts.values()].filter((post) => !isRefused(post)),
    find: (network, id) => posts.get(keyOf({ network, id })),
    timeline: () => [...posts.values()],
    put,
    remove(post) {
      posts.delete(keyOf(post));
      return changed();
    },
    refuse(post) {
      const same = [...posts.values()]
        .filter(isRefused)
        .find(
          ({ network, text, refused }) =>
            network === post.network && text === post.text && refused === post.refused,
        );
      const id = same?.id ?? `refused-${randomBytes(6).toString('hex')}`;
      return put([{ ...post, id } as RefusedPost]);
    },
    ...createDisguises(now),
    onChange: (listener) => {
      listeners.push(listener);
    },
    settle: save,
  };
}

type Kept = Pick<Saved, 'grants' | 'apps'>;

function shelvesOf(kept: Kept, save: () => Promise<void>): Pick<Store, 'grants' | 'apps'> {
  const keep = (changed: Kept): Promise<void> => {
    Object.assign(kept, changed);
    return save();
  };
  return {
    grants: { saved: kept.grants ?? [], save: (grants) => keep({ grants }) },
    apps: { saved: kept.apps ?? [], save: (apps) => keep({ apps }) },
  };
}

/** What look-ups show otherwise before an instant. */
function createDisguises(
  now: () => number,
): Pick<Store, 'hide' | 'isHidden' | 'alter' | 'isAltered'> {
  const [hidden, altered] = [new WeakMap<Post, number>(), new WeakMap<Post, number>()];
  const set = (untilMs: WeakMap<Post, number>) => (posts: readonly Post[], atMs: number) => {
    for (const post of posts) {
      untilMs.set(post, atMs);
    }
  };
  const has = (untilMs: WeakMap<Post, number>) => (post: Post) => (untilMs.get(post) ?? 0) > now();
  return { hide: set(hidden), isHidden: has(hidden), alter: set(altered), isAltered: has(altered) };
}

/** A refused post's id has a form of its own, which no network's ids have, so that no look-up finds one. */
function keyOf(post: { readonly network: string; readonly id: string }): string {
  return `${'refused' in post ? 'refused/' : ''}${post.network}/${post.id}`;
}
