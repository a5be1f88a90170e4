import { PlainError } from '../plain-error.ts';
import type { Say } from '../progress.ts';

/** What looking for a program needs to know of the world. */
export type Search = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: Say;
  /** Ends a download or a build that is under way. */
  readonly signal?: AbortSignal;
};

/** One place that a program may come from. Gives its path, or the reason why it cannot be had from there. */
export type Source = {
  readonly name: string;
  find(search: Search): Promise<{ readonly path: string } | { readonly reason: string }>;
};

/**
 * The path of a program from the first source that has it.
 *
 * @throws PlainError saying where was looked and what was missing, when none has; `advice` ends its message.
 */
export async function findProgram(
  what: string,
  sources: readonly Source[],
  search: Search,
  advice: string,
): Promise<string> {
  const tried: string[] = [];
  for (const { name, find } of sources) {
    search.signal?.throwIfAborted();
    const found = await find(search);
    if ('path' in found) {
      return found.path;
    }

    tried.push(`  ${name}: ${found.reason}`);
  }

  throw new PlainError(`No ${what} could be had.\n${tried.join('\n')}\n${advice}`);
}
