import { Client } from '@xdevplatform/xdk';
import type { ExecutionContext } from 'ava';
import { connectX, postUrl } from '../../../networks/x/connect.ts';
import { createXNetwork } from '../../../networks/x/adapter.ts';
import { xRules } from '../../../networks/x/rules.ts';
import type { Sandbox } from '../../../sandbox/server.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import type { Bench } from '../bench.ts';
import { egressTo, openConnection } from '../connection.ts';

/** Without prices. */
export const x = createXNetwork(xRules({ post: 0, linkPost: 0 }, 24));

/** X's own client. */
export const clientOf = ({ url }: Sandbox): Client =>
  new Client({ baseUrl: `${url}/x`, accessToken: 'demo' });

/** The posts of the account, oldest first, with their files and links. */
export async function postsOf(client: Client, accountId: string) {
  const { data = [], includes } = await client.users.getPosts(accountId, {
    maxResults: 100,
    postFields: ['attachments', 'conversation_id', 'entities', 'paid_partnership'],
    expansions: ['referenced_posts', 'attachments.media_keys'],
    mediaFields: ['url', 'alt_text', 'type'],
  });
  return data.toReversed().map((post) => {
    const keys = post.attachments?.mediaKeys ?? [];
    const files = keys.map((key) => includes?.media?.find(({ mediaKey }) => mediaKey === key));
    return { post, files };
  });
}

/** A new sandbox, with its account connected and opened for one attempt. */
export async function connected(t: ExecutionContext) {
  const sandbox = await openSandbox(t);
  const baseUrl = `${sandbox.url}/x`;
  const login = { baseUrl, accessToken: 'demo', webUrl: baseUrl };
  const account = await connectX(egressTo(t, baseUrl), login);
  const client = clientOf(sandbox);
  const posts = () => postsOf(client, account.remoteId);
  return { sandbox, account, client, posts, connection: openConnection(t, account) };
}

/** X on the sandbox, read with X's own client. */
export const bench: Bench = {
  network: x,
  creates: { method: 'POST', path: /\/2\/tweets$/ },
  deletes: { method: 'DELETE', path: /\/2\/tweets\// },
  uploads: { method: 'POST', path: /\/2\/media\/upload$/ },
  tooLong: 'x'.repeat(281),
  wrongCredentials: { accessToken: 'a-token-that-nobody-granted' },
  options: [
    { chosen: { paid_partnership: true }, shown: { paidPartnership: true, isMadeWithAi: false } },
    { chosen: { made_with_ai: true }, shown: { paidPartnership: false, isMadeWithAi: true } },
    {
      chosen: { paid_partnership: false, made_with_ai: false },
      shown: { paidPartnership: false, isMadeWithAi: false },
    },
  ],
  resetHeaders: (resetAtMs) => ({ 'x-rate-limit-reset': String(resetAtMs / 1000) }),

  async makeAccount(t) {
    const { account, posts } = await connected(t);
    const findPost = async (remoteId: string) =>
      (await posts()).find(({ post }) => post.id === remoteId);
    return {
      account,
      posts: async () =>
        (await posts()).map(({ post: { id = '', text = '', referencedPosts = [] } }) => ({
          remoteId: id,
          // X appends a link to the files.
          text: text.replace(/ ?https:\/\/t\.co\/\w+$/v, ''),
          parentId: referencedPosts[0]?.id ?? null,
        })),
      altTextsOf: async (remoteId) => {
        const found = await findPost(remoteId);
        return (found?.files ?? []).map((file) => file?.altText ?? '');
      },
      choicesOf: async (remoteId) => {
        const found = await findPost(remoteId);
        // X's API does not return this label; only the page shows it.
        const page = await (await fetch(postUrl(account.settings, remoteId))).text();
        return {
          paidPartnership: found?.post.paidPartnership ?? false,
          isMadeWithAi: page.includes('made with AI'),
        };
      },
      textAt: async (url) => (await fetch(url)).text(),
      filesOf: async (remoteId) => {
        const found = await findPost(remoteId);
        return Promise.all(
          (found?.files ?? []).map(async (file) =>
            Buffer.from(await (await fetch(file?.url ?? '')).arrayBuffer()),
          ),
        );
      },
    };
  },
};
