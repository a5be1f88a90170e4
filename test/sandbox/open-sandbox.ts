import { AtpAgent } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { createRestAPIClient, type mastodon } from 'masto';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/server.ts';

/** Starts a sandbox on a free port, for one test. */
export async function openSandbox(
  t: ExecutionContext,
  options: Partial<SandboxOptions> = {},
): Promise<Sandbox> {
  const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, ...options });
  t.teardown(() => sandbox.close());
  return sandbox;
}

/** Mastodon's own client. */
export function mastodonClient(url: string, accessToken = 'demo'): mastodon.rest.Client {
  return createRestAPIClient({ url: `${url}/mastodon`, accessToken });
}

/** Bluesky's own client, signed in. */
export async function blueskyClient(url: string): Promise<AtpAgent> {
  const agent = new AtpAgent({ service: `${url}/bluesky` });
  await agent.login({ identifier: 'demo.sandbox.test', password: 'demo' });
  return agent;
}

/** Posts a status without a client. */
export function postStatus(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/mastodon/api/v1/statuses`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(fields),
  });
}

/** A page's markup. */
export async function readPage(url: string): Promise<string> {
  const answer = await fetch(url);
  return answer.text();
}
