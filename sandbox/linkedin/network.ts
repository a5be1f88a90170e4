import { isAccountName } from '../account-name.ts';
import { defineNetwork } from '../network.ts';
import { signInByOauth } from '../oauth/code-flow.ts';
import { account, identities, companyPage, pageUrn } from './account.ts';
import { linksIn, segmentsOf } from './little-text.ts';
import { activityOf, linkedinPostSchema, type LinkedinPost } from './post.ts';
import { linkedinRoutes } from './routes.ts';

const profile = '/linkedin/in/demo';
const tagPath = (tag: string): string =>
  `/linkedin/feed/hashtag/${encodeURIComponent(tag.toLowerCase())}`;

export const linkedin = defineNetwork<LinkedinPost>({
  id: 'linkedin',
  label: 'LinkedIn',
  traits: ['works_on_files', 'refreshes', 'refreshes_if_told', 'names_comments'],
  accounts: identities,
  signIn: (origin) => ({
    Server: `${origin}/linkedin`,
    'Access token': account.accessToken,
    'Token of a self-serve app': account.selfServeToken,
    Organization: pageUrn,
    ...signInByOauth,
  }),
  colours: { picture: ['#0a78d1', '#0a52a5'], label: ['#0a5fb4', '#71b7f4'] },
  apiPaths: ['/rest/', '/v2/'],
  profile,
  postSchema: linkedinPostSchema,
  routes: linkedinRoutes,
  pathOf: ({ id, replyTo }) =>
    replyTo === null
      ? `/linkedin/feed/update/${id}/`
      : `/linkedin/feed/update/${replyTo}/?commentUrn=${encodeURIComponent(id.replace('(urn:li:', '('))}`,
  tagPath,
  pageAt([first, second, third, ...rest], query) {
    if (rest.length > 0) {
      return null;
    }
    if (first === 'feed' && second === 'hashtag' && third !== undefined) {
      return { kind: 'tag', tag: third };
    }
    if (first === 'feed' && second === 'update' && third !== undefined) {
      const comment = query.get('commentUrn');
      const id = comment?.replace('(activity', '(urn:li:activity') ?? third;
      const isBelow = comment === null || id.includes(`(${activityOf(third)},`);
      return isBelow ? { kind: 'post', id } : null;
    }
    const isAccount =
      first === 'company' ? second === companyPage.id : first === 'in' && isAccountName(second);
    return isAccount && third === undefined ? { kind: 'profile' } : null;
  },
  show: ({ text, commentary, author, visibility, media, article, replyTo }) => ({
    segments: replyTo === null ? segmentsOf(commentary, tagPath) : linksIn(text),
    files: media.map(({ cid, type, altText }) => ({ cid, type, altText })),
    ...(article && {
      card: {
        href: article.source,
        title: article.title,
        description: article.description,
        cid: article.thumbnail?.cid,
      },
    }),
    notes: [
      ...(author === pageUrn ? [`as ${companyPage.displayName}`] : []),
      ...(visibility === 'PUBLIC' || replyTo !== null ? [] : ['connections only']),
      ...(replyTo === null ? [] : ['comment']),
    ],
  }),
});
