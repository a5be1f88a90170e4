import { defineNetwork } from '../network.ts';
import { account, accountNamed, accountOf, identities } from './account.ts';
import { blueskyPostSchema, type BlueskyPost } from './post.ts';
import { blueskyRoutes } from './routes.ts';
import { show } from './show.ts';

const profileOf = ({ did }: { readonly did: string }): string => `/bluesky/profile/${did}`;

export const bluesky = defineNetwork<BlueskyPost>({
  id: 'bluesky',
  label: 'Bluesky',
  traits: ['works_on_files', 'refreshes'],
  accounts: identities,
  signIn: (origin) => ({
    Server: origin,
    'Web address': `${origin}/bluesky`,
    Handle: account.handle,
    'App password': account.appPassword,
  }),
  colours: { picture: ['#2b8cff', '#0b62d6'], label: ['#0b62d6', '#66adff'] },
  apiPaths: ['/xrpc/'],
  profile: profileOf(account),
  postSchema: blueskyPostSchema,
  routes: blueskyRoutes,
  pathOf: ({ id, account: author = 'demo' }) => `${profileOf(accountOf(author))}/post/${id}`,
  tagPath: (tag) => `/bluesky/hashtag/${encodeURIComponent(tag.toLowerCase())}`,
  pageAt([first, second, third, id, ...rest]) {
    if (rest.length > 0 || second === undefined) {
      return null;
    }
    if (first === 'hashtag') {
      return third === undefined ? { kind: 'tag', tag: second } : null;
    }
    if (first !== 'profile' || accountNamed(second) === null) {
      return null;
    }
    if (third === 'post' && id !== undefined) {
      return { kind: 'post', id };
    }
    return third === undefined ? { kind: 'profile' } : null;
  },
  show,
});
