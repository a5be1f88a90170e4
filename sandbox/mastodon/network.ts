import { defineNetwork } from '../network.ts';
import { account, accounts, identities } from './account.ts';
import { statusSchema, type Status } from './post.ts';
import { mastodonRoutes } from './routes.ts';
import { segmentsOf } from './text.ts';

const profile = `/mastodon/@${account.username}`;

export const mastodon = defineNetwork<Status>({
  id: 'mastodon',
  label: 'Mastodon',
  traits: ['works_on_files'],
  accounts: identities,
  signIn: (origin) => ({
    Server: origin,
    'Web address': `${origin}/mastodon`,
    'Access token': account.accessToken,
  }),
  colours: { picture: ['#6d5efc', '#4b3bd6'], label: ['#5140d8', '#a79cff'] },
  apiPaths: [
    '/api/',
    ...Object.values(accounts).flatMap(({ username: name }) => [`/@${name}`, `/@${name}/`]),
  ],
  profile,
  postSchema: statusSchema,
  routes: mastodonRoutes,
  pathOf: ({ id, account: author = 'demo' }) => `/mastodon/@${accounts[author].username}/${id}`,
  tagPath: (tag) => `/mastodon/tags/${encodeURIComponent(tag.toLowerCase())}`,
  pageAt([first, second, ...rest]) {
    if (rest.length > 0) {
      return null;
    }
    if (first === 'tags' && second !== undefined) {
      return { kind: 'tag', tag: second };
    }
    const names = Object.values(accounts).map(({ username }) => `@${username}`);
    const isOwn = names.includes(first ?? '');
    return isOwn
      ? second === undefined
        ? { kind: 'profile' }
        : { kind: 'post', id: second }
      : null;
  },
  show: ({ text, spoilerText = '', sensitive = false, media = [], visibility, language }) => ({
    warning: spoilerText === '' ? undefined : spoilerText,
    segments: segmentsOf(text, '/mastodon'),
    files: media.map(({ cid, type, description }) => ({ cid, type, altText: description ?? '' })),
    notes: [
      ...(visibility === 'public' ? [] : [visibility]),
      ...(sensitive ? ['sensitive'] : []),
      ...(language === null ? [] : [language]),
    ],
  }),
});
