import type { ExecutionContext } from 'ava';
import { createLinkedinNetwork } from '../../../networks/linkedin/adapter.ts';
import { connectLinkedin } from '../../../networks/linkedin/connect.ts';
import type { Account } from '../../../networks/network.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import type { Bench, LivePost } from '../bench.ts';
import { egressTo, openConnection } from '../connection.ts';

export const version = '202609';
export const linkedin = createLinkedinNetwork(version);

export const requests = {
  posts: { method: 'POST', path: /^(?:\/linkedin)?\/rest\/posts$/ },
  comments: { method: 'POST', path: /^(?:\/linkedin)?\/rest\/socialActions\/[^/]*\/comments$/ },
  bytes: { method: 'PUT', path: /^(?:\/linkedin)?\/dms-uploads\// },
  finalize: { method: 'POST', path: /^(?:\/linkedin)?\/rest\/videos\?action=finalizeUpload$/ },
} as const;

/** The token of a self-serve app: it may post, but not read. */
export const selfServe = 'demo-self-serve';

/** An account on a new sandbox, opened for one attempt. */
export async function connected(
  t: ExecutionContext,
  { token = 'demo', organization }: { token?: string; organization?: string } = {},
) {
  const sandbox = await openSandbox(t);
  const baseUrl = `${sandbox.url}/linkedin`;
  const account = await connectLinkedin(egressTo(t, baseUrl), {
    baseUrl,
    accessToken: token,
    organization,
    version,
  });
  return {
    url: sandbox.url,
    account,
    connection: openConnection(t, account),
    posts: () => postsOf(account),
    /** Applies a directive to the next requests, as a directive in a text does. */
    control: (directive: string, count = 1) => control(sandbox.url, { directive, count }),
  };
}

async function control(url: string, order: object): Promise<void> {
  await fetch(`${url}/control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ platform: 'linkedin', ...order }),
  });
}

export type Listed = {
  readonly id: string;
  readonly commentary: string;
  readonly visibility: string;
  readonly content?: {
    readonly media?: { readonly id: string; readonly altText?: string };
    readonly multiImage?: {
      readonly images: readonly { readonly id: string; readonly altText?: string }[];
    };
    readonly article?: {
      readonly source: string;
      readonly title: string;
      readonly description: string;
      readonly thumbnail?: string;
    };
  };
};

type Comment = { readonly commentUrn: string; readonly message: { readonly text: string } };

/** The items that another client reads, newest first. */
async function list<T>({ baseUrl }: Account, path: string): Promise<T[]> {
  const answer = await fetch(`${baseUrl}/rest${path}`, {
    headers: {
      authorization: 'Bearer demo',
      'linkedin-version': version,
      'x-restli-protocol-version': '2.0.0',
      'x-restli-method': 'FINDER',
    },
  });
  const { elements } = (await answer.json()) as { elements: T[] };
  return elements;
}

/** The posts of an account as LinkedIn lists them, oldest first. */
export async function listed(account: Account): Promise<Listed[]> {
  const author = encodeURIComponent(account.remoteId);
  return (await list<Listed>(account, `/posts?q=author&author=${author}&count=100`)).toReversed();
}

async function postsOf(account: Account): Promise<LivePost[]> {
  const posts: LivePost[] = [];
  for (const { id, commentary } of await listed(account)) {
    posts.push({ remoteId: id, text: plain(commentary), parentId: null });
    const path = `/socialActions/${encodeURIComponent(id)}/comments?count=100`;
    for (const { commentUrn, message } of await list<Comment>(account, path)) {
      posts.push({ remoteId: commentUrn, text: message.text, parentId: id });
    }
  }
  return posts;
}

const plain = (little: string): string =>
  little.replaceAll(/\{hashtag\|\\#\|([^|}]*)\}/g, '#$1').replaceAll(/\\(.)/g, '$1');

/** The article of one post on the sandbox's page. */
export async function articleOf({ baseUrl }: Account, remoteId: string): Promise<string> {
  const page = await fetch(`${new URL(baseUrl).origin}/`);
  const [, article = ''] = (await page.text()).split(`id="linkedin-${remoteId}"`);
  return article.split('</article>')[0] ?? '';
}

/** LinkedIn on the sandbox: no other server has this API. */
export const bench: Bench = {
  network: linkedin,
  creates: requests.posts,
  deletes: { method: 'DELETE', path: /\/rest\/posts\// },
  hidesGone: true,
  uploads: { method: 'POST', path: /^(?:\/linkedin)?\/rest\/images\?action=initializeUpload$/ },
  tooLong: 'x'.repeat(3001),
  wrongCredentials: { accessToken: 'a-token-that-nobody-granted' },
  options: [
    { chosen: { visibility: 'CONNECTIONS' }, shown: { visibility: 'CONNECTIONS' } },
    { chosen: { visibility: 'PUBLIC' }, shown: { visibility: 'PUBLIC' } },
    { chosen: { link_card: false }, shown: { visibility: 'PUBLIC' } },
    // The ledger makes the comment a second part.
    { chosen: { first_comment: 'More below' }, shown: { visibility: 'PUBLIC' } },
  ],
  // LinkedIn itself sends no time.
  resetHeaders: (resetAtMs) => ({ 'retry-after': new Date(resetAtMs).toUTCString() }),

  async makeAccount(t) {
    const { account, url, posts } = await connected(t);
    return {
      account,
      posts,
      textAt: async (address) => (await fetch(address)).text(),
      altTextsOf: async (id) => {
        const { content } = (await listed(account)).find((post) => post.id === id) ?? {};
        const files = content?.multiImage?.images ?? (content?.media ? [content.media] : []);
        return files.map(({ altText = '' }) => altText);
      },
      // Only a post has options; its comment has none.
      choicesOf: async () => (await listed(account))[0] ?? {},
      filesOf: async (id) => {
        const article = await articleOf(account, id);
        const paths = [...article.matchAll(/src="(\/files\/[^"]*)"/g)].map(([, path]) => path);
        return Promise.all(
          paths.map(async (path) => Buffer.from(await (await fetch(url + path)).arrayBuffer())),
        );
      },
    };
  },
};
