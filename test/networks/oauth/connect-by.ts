import type { ExecutionContext } from 'ava';
import type { Authorized, Oauth, OauthContext, OauthEntry } from '../../../networks/oauth.ts';
import { beginning, redirectUri, state } from './context.ts';

/** Begins at a network and comes back with what its browser is told. @returns how both halves went. */
export async function connectBy(
  oauth: Oauth,
  context: OauthContext,
  said: Readonly<Record<string, string>> = { code: 'a-code' },
): Promise<{ readonly asked: URL; readonly finished: Promise<Authorized> }> {
  const begun = await oauth.begin(beginning(context));
  const answer = new URLSearchParams({ state, ...said });
  const finished = oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  // A test may look at what was asked first.
  finished.catch(() => undefined);
  return { asked: new URL(begun.url), finished };
}

/** A network's OAuth; fails the test where it has none. */
export async function loaded(t: ExecutionContext, entry: OauthEntry | undefined): Promise<Oauth> {
  if (!entry) {
    return t.fail('The network has no OAuth.') as never;
  }

  return entry.load();
}
