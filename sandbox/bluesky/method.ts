import type { BlueskyDeps } from './deps.ts';
import type { TokenKind } from './sessions.ts';

/** A response's body, or `none` (cuts the connection), or `error` (500). */
export type Answer = object | 'none' | 'error';

export type Method = {
  readonly verb: 'GET' | 'POST';
  /** The required token: of a session, or a service token for one method. */
  readonly needs?: TokenKind | { readonly service: string };
  /** The body is a file instead of JSON: of any type, or of this one. */
  readonly takesFile?: true | 'video/mp4';
  /** @param input The query or body, validated against the method's lexicon. */
  readonly run: (deps: BlueskyDeps, input: unknown) => Answer | Promise<Answer>;
};
