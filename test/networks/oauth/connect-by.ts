import type { ExecutionContext } from 'ava';
import type {
  Authorized,
  Oauth,
  OauthContext,
  OauthEntry,
} from '../../../networks/oauth/contract.ts';
import { beginning, redirectUri, state } from './context.ts';

/** Begins a connection and finishes it with these callback parameters. @returns the results of both halves. */
export async function connectBy(
  oauth: Oauth,
  context: OauthContext,
  parameters: Readonly<Record<string, string>> = { code: 'a-code' },
): Promise<{ readonly asked: URL; readonly finished: Promise<Authorized> }> {
  const begun = await oauth.begin(beginning(context));
  const answer = new URLSearchParams({ state, ...parameters });
  const finished = oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  // A test may examine the request first.
  finished.catch(() => undefined);
  return { asked: new URL(begun.url), finished };
}

/** A network's OAuth; fails the test if it has none. */
export async function loaded(t: ExecutionContext, entry: OauthEntry | undefined): Promise<Oauth> {
  if (!entry) {
    return t.fail('The network has no OAuth.') as never;
  }

  return entry.load();
}
