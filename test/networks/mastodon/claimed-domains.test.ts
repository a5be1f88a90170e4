import test from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import type { Egress, EgressRequest } from '../../../runtime/egress/egress.ts';

const baseUrl = 'https://server.example';

type Answer = {
  readonly status?: number;
  readonly json?: unknown;
  readonly headers?: Record<string, string>;
};

/** Connects `demo` on a server that claims a domain with this WebFinger answer. @returns the handle. */
async function shown(domain: string | undefined, webFinger: Answer = { status: 404 }) {
  const asked: string[] = [];
  const answers: Record<string, Answer> = {
    [`${baseUrl}/api/v1/accounts/verify_credentials`]: { json: { id: '1', username: 'demo' } },
    [`${baseUrl}/api/v2/instance`]: { json: { domain } },
  };
  const http: Egress = {
    request: async ({ url }: EgressRequest) => {
      asked.push(url);
      const { status = 200, json = {}, headers = {} } = answers[url] ?? webFinger;
      return { status, headers, body: Buffer.from(JSON.stringify(json)), truncated: false };
    },
    close: async () => undefined,
  };
  const { handle } = await connectMastodon(http, { baseUrl, accessToken: 'a' });
  return { handle, webFinger: asked.filter((url) => url.includes('webfinger')) };
}

const leadsTo = (href: string, rel = 'self'): Answer => ({ json: { links: [{ rel, href }] } });

test("a handle whose domain does not confirm this server is shown with the server's name", async (t) => {
  const refusals: Record<string, Answer> = {
    'it has no such account': { status: 404 },
    'the account is on another server': leadsTo('https://mastodon.social/users/demo'),
    'a link with another relation': leadsTo(
      `${baseUrl}/users/demo`,
      'http://webfinger.net/rel/avatar',
    ),
    'it redirects elsewhere': { status: 302, headers: { location: 'https://other.example/' } },
    'no WebFinger': { json: { links: 'none' } },
  };
  for (const [why, answer] of Object.entries(refusals)) {
    const { handle, webFinger } = await shown('mastodon.social', answer);
    t.is(handle, '@demo@mastodon.social (server.example)', why);
    t.deepEqual(webFinger, [
      'https://mastodon.social/.well-known/webfinger?resource=acct%3Ademo%40mastodon.social',
    ]);
  }

  for (const domain of [
    'mastodon.social/x',
    'a@mastodon.social',
    'mastodon.social?',
    'a b.example',
  ]) {
    t.like(await shown(domain), { handle: `@demo@${domain} (server.example)`, webFinger: [] });
  }
});

test('a handle whose WebFinger confirms this server is shown alone', async (t) => {
  for (const answer of [
    leadsTo(`${baseUrl}/users/demo`),
    { status: 301, headers: { location: `${baseUrl}/.well-known/webfinger` } },
  ]) {
    t.is((await shown('example.com', answer)).handle, '@demo@example.com');
  }
});

test("a handle with the server's own name needs no proof", async (t) => {
  for (const domain of ['server.example', 'Server.Example', undefined]) {
    t.like(await shown(domain), { handle: '@demo@server.example', webFinger: [] });
  }
});
