import type { AccountName } from '../account-name.ts';
import { defineNetwork } from '../network.ts';
import { account, accounts } from './account.ts';
import { statusSchema, type Status } from './post.ts';
import { mastodonRoutes } from './routes.ts';
import { segmentsOf } from './text.ts';

const profile = `/mastodon/@${account.username}`;

const identityOf = ({ displayName, username, domain }: (typeof accounts)[AccountName]) => ({
  displayName,
  handle: `@${username}@${domain}`,
});

export const mastodon = defineNetwork<Status>({
  id: 'mastodon',
  label: 'Mastodon',
  accounts: { demo: identityOf(accounts.demo), second: identityOf(accounts.second) },
  signIn: (origin) => ({ Server: origin, 'Access token': account.accessToken }),
  colours: { picture: ['#6d5efc', '#4b3bd6'], label: ['#5140d8', '#a79cff'] },
  apiPaths: ['/api/'],
  profile,
  postSchema: statusSchema,
  routes: mastodonRoutes,
  pathOf: ({ id }) => `${profile}/${id}`,
  tagPath: (tag) => `/mastodon/tags/${encodeURIComponent(tag.toLowerCase())}`,
  pageAt([first, second, ...rest]) {
    if (rest.length > 0) {
      return null;
    }
    if (first === 'tags' && second !== undefined) {
      return { kind: 'tag', tag: second };
    }
    const isOwn = first === `@${account.username}`;
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
