import { MastoHttpError } from 'masto';
import type { ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { defaultScopes, mastodonAccount } from '../../support/accounts.ts';
import { egressTo, openConnection } from '../connection.ts';
import type { Bench } from '../bench.ts';

/** An account of one test, connected by its token and opened for one attempt. */
export async function connected(t: ExecutionContext, scopes = defaultScopes) {
  const person = await mastodonAccount(scopes);
  const { baseUrl, accessToken, client } = person;
  const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
  return { person, client, account, connection: openConnection(t, account) };
}

/** Mastodon's API on GoToSocial, read with `masto`. */
export const bench: Bench = {
  network: mastodonNetwork,
  creates: { method: 'POST', path: /^\/api\/v1\/statuses$/ },
  deletes: { method: 'DELETE', path: /^\/api\/v1\/statuses\// },
  uploads: { method: 'POST', path: /^\/api\/v2\/media$/ },
  tooLong: 'x'.repeat(5001),
  wrongCredentials: { accessToken: 'a-token-that-nobody-granted' },
  options: [
    {
      chosen: { visibility: 'unlisted', language: 'de' },
      shown: { visibility: 'unlisted', language: 'de', sensitive: false, spoilerText: '' },
    },
    { chosen: { visibility: 'private' }, shown: { visibility: 'private' } },
    { chosen: { sensitive: true }, shown: { visibility: 'public', sensitive: true } },
    {
      chosen: { spoiler_text: 'The end of the film' },
      shown: { spoilerText: 'The end of the film' },
    },
  ],
  resetHeaders: (resetAtMs) => ({ 'x-ratelimit-reset': new Date(resetAtMs).toISOString() }),

  async makeAccount(t) {
    const { account, client } = await connected(t);
    return {
      account,
      posts: async () => {
        const statuses = await client.v1.accounts.$select(account.remoteId).statuses.list();
        const posts = await Promise.all(
          statuses.map(async ({ id, inReplyToId }) => {
            const source = await client.v1.statuses.$select(id).source.fetch().catch(unlessDeleted);
            return source
              ? [{ remoteId: id, text: source.text, parentId: inReplyToId ?? null }]
              : [];
          }),
        );
        return posts.flat().toReversed();
      },
      altTextsOf: async (id) => {
        const { mediaAttachments } = await client.v1.statuses.$select(id).fetch();
        return mediaAttachments.map(({ description }) => description ?? '');
      },
      choicesOf: (id) => client.v1.statuses.$select(id).fetch(),
      textAt: async (url) => {
        const response = await fetch(url, { headers: { accept: 'text/html' } });
        return response.text();
      },
      filesOf: async (id) => {
        const { mediaAttachments } = await client.v1.statuses.$select(id).fetch();
        return Promise.all(
          mediaAttachments.map(async ({ url }) => {
            const response = await fetch(url ?? '');
            return Buffer.from(await response.arrayBuffer());
          }),
        );
      },
    };
  },
};

/** GoToSocial deletes in the background, so a listed status may be gone when it is read. */
function unlessDeleted(error: unknown): undefined {
  if (!(error instanceof MastoHttpError && error.statusCode === 404)) {
    throw error;
  }
}
