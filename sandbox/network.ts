import type { Router } from '@koa/router';
import type { SchemaObject } from 'ajv';
import type { AccountName, Identity } from './account-name.ts';
import type { SandboxDeps } from './deps.ts';
import type { Trait } from './directives.ts';
import type { SandboxPost, SandboxFile } from './post.ts';
import type { Segment } from './segment.ts';

/** A network of the sandbox: what its folder exports, and all that the rest of the sandbox uses. */
export type SandboxNetwork = Face & {
  /**
   * Adds the server's routes, all below `/<id>/` except Bluesky's OAuth, whose issuer is an origin. Called once per
   * sandbox.
   */
  routes(deps: SandboxDeps): Router;
  /** Validates a post's own fields in the data file, including those of earlier versions. */
  readonly postSchema: SchemaObject & { readonly properties: Readonly<Record<string, object>> };
  /** The path and query of a post's page, which its live URL leads to. */
  pathOf(post: SandboxPost): string;
  /** Converts a post for the page. */
  show(post: SandboxPost): Shown;
};

type Face = {
  /** The name of its folder, paths and posts: `mastodon`. */
  readonly id: string;
  readonly label: string;
  readonly traits: readonly Trait[];
  /** Their credentials are public. */
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** The credentials for the demo account. @param origin This server's origin. */
  readonly signIn: (origin: string) => Readonly<Record<string, string>>;
  /** Hex colours: the account's picture from top to bottom, and the label on a light and on a dark page. */
  readonly colours: {
    readonly picture: readonly [string, string];
    readonly label: readonly [string, string];
  };
  /** The network's own paths, for clients that only know an origin: `/api/`. */
  readonly apiPaths: readonly string[];
  /** The path of the accounts' page. */
  readonly profile: string;
  tagPath(tag: string): string;
  /** The page at a path. @param path The path after `/<id>/`, decoded and split at slashes, without empty pieces. */
  pageAt(path: readonly string[], query: URLSearchParams): Place | null;
};

/** A web page. */
export type Place =
  | { readonly kind: 'profile' }
  | { readonly kind: 'post'; readonly id: string }
  | { readonly kind: 'tag'; readonly tag: string };

export type Shown = {
  readonly title?: string | undefined;
  /** The warning in front of a collapsed text. */
  readonly warning?: string | undefined;
  readonly segments: readonly Segment[];
  readonly files: readonly SandboxFile[];
  readonly card?: Card | undefined;
  /** Further options of the post: `unlisted`, `private`, `made with AI`. */
  readonly notes: readonly string[];
};

/** A link preview. */
export type Card = {
  readonly href: string;
  readonly title: string;
  readonly description: string;
  /** Content hash of the stored picture. */
  readonly cid?: string | undefined;
};

/**
 * Defines a network with its own type of posts.
 *
 * The cast is safe: the registry only passes a network its own posts, and the data file's schema has validated them.
 */
export function defineNetwork<P extends SandboxPost>(
  network: Omit<SandboxNetwork, 'pathOf' | 'show'> & {
    pathOf(post: P): string;
    show(post: P): Shown;
  },
): SandboxNetwork {
  return network as SandboxNetwork;
}
