import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createRestAPIClient, type mastodon } from 'masto';
import { env } from './env.ts';
import { mastodonToken } from './mastodon-token.ts';

const run = promisify(execFile);
const password = 'A-long-pass-word-1!';

/** What an adapter needs. */
export const defaultScopes = 'read:accounts read:statuses write:media write:statuses';

export type MastodonTestAccount = {
  readonly baseUrl: string;
  readonly username: string;
  readonly accessToken: string;
  /** An unrelated client of the same account, to read back with. */
  readonly client: mastodon.rest.Client;
  /** Ends the token, as the account's owner does in the server's settings. */
  revoke(): Promise<void>;
};

/** Makes an account on the running GoToSocial and lets its owner grant a token. Takes about 1.5 s. */
export async function mastodonAccount(scopes = defaultScopes): Promise<MastodonTestAccount> {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  const username = `u${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const email = `${username}@example.com`;
  const config = ['--config-path', env('PUNCTUAL_TEST_GOTOSOCIAL_CONFIG')];
  const person = ['--username', username, '--email', email, '--password', password];
  await run(env('PUNCTUAL_TEST_GOTOSOCIAL_BINARY'), [
    ...config,
    'admin',
    'account',
    'create',
    ...person,
  ]);
  const { accessToken, revoke } = await mastodonToken(baseUrl, { email, password, scopes });
  const client = createRestAPIClient({ url: baseUrl, accessToken });
  return { baseUrl, username, accessToken, client, revoke };
}
