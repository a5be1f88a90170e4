import type { Router } from '@koa/router';
import type { SchemaObject } from 'ajv';
import type { AccountName, Identity } from './account-name.ts';
import type { SandboxDeps } from './deps.ts';
import type { Trait } from './directives.ts';
import type { Post, PostFile } from './post.ts';
import type { Segment } from './segment.ts';

/** A network as the sandbox plays it: what its folder exports, and all that the rest of the sandbox knows of it. */
export type SandboxNetwork = Face & {
  /** Adds the server's calls, all below `/<id>/` but Bluesky's OAuth, whose issuer is an origin. Called once for each sandbox. */
  routes(deps: SandboxDeps): Router;
  /** Checks a post's own fields in the data file. Also takes what earlier versions wrote. */
  readonly postSchema: SchemaObject & { readonly properties: Readonly<Record<string, object>> };
  /** The path of a post's own page, with its query: where the post's live address leads. */
  pathOf(post: Post): string;
  /** What the page shows of a post. */
  show(post: Post): Shown;
};

type Face = {
  /** Names its folder, its paths and its posts: `mastodon`. */
  readonly id: string;
  readonly label: string;
  readonly traits: readonly Trait[];
  /** Their credentials are no secret. */
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** What a person needs to connect the demo account. @param origin Of this server. */
  readonly signIn: (origin: string) => Readonly<Record<string, string>>;
  /** Hex colours: of the account's picture from top to bottom, and of the label on a light and on a dark page. */
  readonly colours: {
    readonly picture: readonly [string, string];
    readonly label: readonly [string, string];
  };
  /** Paths as the network itself has them, for clients that know only an origin: `/api/`. */
  readonly apiPaths: readonly string[];
  /** The path of the accounts' page. */
  readonly profile: string;
  tagPath(tag: string): string;
  /** What page is at a path. @param path What stands behind `/<id>/`, decoded, cut at slashes, without empty pieces. */
  pageAt(path: readonly string[], query: URLSearchParams): Place | null;
};

/** A page for people. */
export type Place =
  | { readonly kind: 'profile' }
  | { readonly kind: 'post'; readonly id: string }
  | { readonly kind: 'tag'; readonly tag: string };

export type Shown = {
  readonly title?: string | undefined;
  /** Stands before a text that its author hides at first. */
  readonly warning?: string | undefined;
  readonly segments: readonly Segment[];
  readonly files: readonly PostFile[];
  readonly card?: Card | undefined;
  /** What else was chosen: `unlisted`, `private`, `made with AI`. */
  readonly notes: readonly string[];
};

/** A preview of a link. */
export type Card = {
  readonly href: string;
  readonly title: string;
  readonly description: string;
  /** Of the stored picture. */
  readonly cid?: string | undefined;
};

/**
 * Makes a network of a folder whose posts have a type of their own.
 *
 * The registry hands a network its own posts only, and the data file's schema has checked them, so the type is safe.
 */
export function defineNetwork<P extends Post>(
  network: Omit<SandboxNetwork, 'pathOf' | 'show'> & {
    pathOf(post: P): string;
    show(post: P): Shown;
  },
): SandboxNetwork {
  return network as SandboxNetwork;
}
