import type { AccountName } from '../account-name.ts';
import { defineNetwork } from '../network.ts';
import { account, accounts } from './account.ts';
import { xPostSchema, type XPost } from './post.ts';
import { xRoutes } from './routes.ts';
import { segmentsOf } from './text.ts';

const profile = `/x/${account.username}`;

const identityOf = ({ displayName, username }: (typeof accounts)[AccountName]) => ({
  displayName,
  handle: `@${username}`,
});

export const x = defineNetwork<XPost>({
  id: 'x',
  label: 'X',
  accounts: { demo: identityOf(accounts.demo), second: identityOf(accounts.second) },
  signIn: (origin) => ({
    Server: `${origin}/x`,
    'Web address': `${origin}/x`,
    'Access token': account.accessToken,
  }),
  colours: { picture: ['#3a3f47', '#14171a'], label: ['#33383f', '#c4ccd6'] },
  apiPaths: ['/2/'],
  profile,
  postSchema: xPostSchema,
  routes: xRoutes,
  pathOf: ({ id }) => `/x/i/web/status/${id}`,
  tagPath: (tag) => `/x/hashtag/${encodeURIComponent(tag.toLowerCase())}`,
  pageAt(path) {
    const [first, second, third, id] = path;
    if (path.length === 4 && first === 'i' && second === 'web' && third === 'status' && id) {
      return { kind: 'post', id };
    }
    if (path.length === 2 && first === 'hashtag' && second !== undefined) {
      return { kind: 'tag', tag: second };
    }
    return path.length === 1 && first === account.username ? { kind: 'profile' } : null;
  },
  show: ({ text, files, isMadeWithAi, isPaidPartnership }) => ({
    segments: segmentsOf(text, '/x'),
    files,
    notes: [
      ...(isMadeWithAi ? ['made with AI'] : []),
      ...(isPaidPartnership ? ['paid partnership'] : []),
    ],
  }),
});
