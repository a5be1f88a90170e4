import { defineNetwork } from '../network.ts';
import { signInByOauth } from '../oauth/code-flow.ts';
import { account, accounts, identities } from './account.ts';
import { xPostSchema, type XPost } from './post.ts';
import { xRoutes } from './routes.ts';
import { segmentsOf } from './text.ts';

const profile = `/x/${account.username}`;

export const x = defineNetwork<XPost>({
  id: 'x',
  label: 'X',
  traits: ['works_on_files', 'refreshes', 'charges'],
  accounts: identities,
  signIn: (origin) => ({
    Server: `${origin}/x`,
    'Web address': `${origin}/x`,
    'Access token': account.accessToken,
    ...signInByOauth,
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
    const isAccount = first === accounts.demo.username || first === accounts.second.username;
    return path.length === 1 && isAccount ? { kind: 'profile' } : null;
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
