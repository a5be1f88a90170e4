import type { BlueskyDeps } from './deps.ts';
import type { TokenKind } from './sessions.ts';

/** An answer, or what the caller is to get in its place: nothing, or an error. */
export type Answer = object | 'none' | 'error';

export type Method = {
  readonly verb: 'GET' | 'POST';
  /** The token that the caller must show: of a session, or one that the account's server made for a method. */
  readonly needs?: TokenKind | { readonly service: string };
  /** The body is a file, and no JSON: of any type, or of this one. */
  readonly takesFile?: true | 'video/mp4';
  /** @param input The query or the body, after the check against the method's lexicon. */
  readonly run: (deps: BlueskyDeps, input: unknown) => Answer | Promise<Answer>;
};
