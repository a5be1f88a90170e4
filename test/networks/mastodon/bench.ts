import { mastodon } from '../../../networks/mastodon/index.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodonAccount } from '../../support/accounts.ts';
import { egressTo } from '../connection.ts';
import type { Bench } from '../suite.ts';

/** Mastodon's API by GoToSocial, read back with `masto`. */
export const bench: Bench = {
  network: mastodon,
  creates: { method: 'POST', path: /^\/api\/v1\/statuses$/ },
  uploads: { method: 'POST', path: /^\/api\/v2\/media$/ },
  tooLong: 'x'.repeat(5001),
  wrongCredentials: { accessToken: 'a-token-that-nobody-granted' },
  resetHeaders: (resetAtMs) => ({ 'x-ratelimit-reset': new Date(resetAtMs).toISOString() }),

  async makeAccount(t) {
    const { baseUrl, accessToken, client } = await mastodonAccount();
    const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
    return {
      account,
      posts: async () => {
        const statuses = await client.v1.accounts.$select(account.remoteId).statuses.list();
        const posts = await Promise.all(
          statuses.map(async ({ id, inReplyToId }) => {
            const { text } = await client.v1.statuses.$select(id).source.fetch();
            return { remoteId: id, text, parentId: inReplyToId ?? null };
          }),
        );
        return posts.toReversed();
      },
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
