import { randomBytes } from 'node:crypto';
import { createDataFileWriter, readDataFile, type PostSchemas, type Saved } from './data-file.ts';
import { dropOldest } from './drop-oldest.ts';
import type { SandboxGrant } from './oauth/grant.ts';
import type { RegisteredApp } from './oauth/registered-app.ts';
import { isRefused, type SandboxPost, type RefusedPost } from './post.ts';
import type { Shelf } from './shelf.ts';

/** Replaces the text of an altered post in look-ups. */
export const alteredText = 'This is not the text that was sent.';

/** The most posts kept, for all networks together; the oldest are dropped. */
const maxPosts = 1000;

export type Store = {
  /** Signs tokens. */
  readonly secret: string;
  /** Keeps grants across restarts. */
  readonly grants: Shelf<SandboxGrant>;
  /** Keeps apps that registered at Mastodon. */
  readonly apps: Shelf<RegisteredApp>;
  /** In order of arrival, without refused posts. */
  all(): readonly SandboxPost[];
  find(network: string, id: string): SandboxPost | undefined;
  /** All posts including refused ones, for the page. */
  timeline(): readonly SandboxPost[];
  /** Stores all posts at once, replacing those with a known id. Resolves when they are on disk. */
  put(posts: readonly SandboxPost[]): Promise<void>;
  /** Deletes a post, like its owner on the network. Resolves when the change is on disk. */
  remove(post: SandboxPost): Promise<void>;
  /** Stores a refused post for the page. Replaces an equal one. */
  refuse(post: Omit<RefusedPost, 'id'>): Promise<void>;
  /** Hides posts from look-ups of their network until a time. */
  hide(posts: readonly SandboxPost[], untilMs: number): void;
  isHidden(post: SandboxPost): boolean;
  /** Shows posts changed in look-ups of their network until a time. */
  alter(posts: readonly SandboxPost[], untilMs: number): void;
  isAltered(post: SandboxPost): boolean;
  /** Calls the listener after every change. */
  onChange(listener: () => void): void;
  /** Resolves when everything is on disk. */
  settle(): Promise<void>;
};

/**
 * Opens the posts of all networks.
 *
 * @param dataFile Keeps them across restarts; in memory when absent.
 * @param schemas Validate the file.
 * @param now Milliseconds since 1970.
 * @throws Error when the file is not a sandbox's.
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
  await save(); // Reports an unwritable path at the start, not at the first post.
  const changed = (): Promise<void> => {
    for (const listener of listeners) {
      listener();
    }
    return save();
  };
  const put = (added: readonly SandboxPost[]): Promise<void> => {
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

/** Posts that look-ups hide or change until a time. */
function createDisguises(
  now: () => number,
): Pick<Store, 'hide' | 'isHidden' | 'alter' | 'isAltered'> {
  const [hidden, altered] = [
    new WeakMap<SandboxPost, number>(),
    new WeakMap<SandboxPost, number>(),
  ];
  const set =
    (untilMs: WeakMap<SandboxPost, number>) => (posts: readonly SandboxPost[], atMs: number) => {
      for (const post of posts) {
        untilMs.set(post, atMs);
      }
    };
  const has = (untilMs: WeakMap<SandboxPost, number>) => (post: SandboxPost) =>
    (untilMs.get(post) ?? 0) > now();
  return { hide: set(hidden), isHidden: has(hidden), alter: set(altered), isAltered: has(altered) };
}

/** The keys of refused posts differ from those of all networks, so that no look-up finds them. */
function keyOf(post: { readonly network: string; readonly id: string }): string {
  return `${'refused' in post ? 'refused/' : ''}${post.network}/${post.id}`;
}
