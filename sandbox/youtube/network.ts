import { defineNetwork } from '../network.ts';
import { signInByOauth } from '../oauth/code-flow.ts';
import { isWebAddress, type Segment } from '../segment.ts';
import { account, accounts, identities } from './account.ts';
import { youtubePostSchema, type Comment, type Video } from './post.ts';
import { youtubeRoutes } from './routes.ts';

const profile = `/youtube/${account.handle}`;

export const youtube = defineNetwork<Video | Comment>({
  id: 'youtube',
  label: 'YouTube',
  traits: ['works_on_files', 'refreshes', 'locks'],
  accounts: identities,
  signIn: (origin) => ({
    Server: `${origin}/youtube`,
    'Access token': account.accessToken,
    ...signInByOauth,
  }),
  colours: { picture: ['#ff4e45', '#c4160d'], label: ['#b3150c', '#ff9d97'] },
  apiPaths: ['/youtube/v3/', '/upload/youtube/v3/'],
  profile,
  postSchema: youtubePostSchema,
  routes: youtubeRoutes,
  pathOf: (post) =>
    post.kind === 'comment'
      ? `/youtube/watch?v=${post.replyTo}&lc=${post.id}`
      : `/youtube/watch?v=${post.id}`,
  tagPath: (tag) => `/youtube/hashtag/${encodeURIComponent(tag.toLowerCase())}`,
  pageAt([first, second, ...rest], query) {
    if (first === 'watch' && second === undefined) {
      return { kind: 'post', id: query.get('lc') ?? query.get('v') ?? '' };
    }
    if (first === 'hashtag' && second !== undefined && rest.length === 0) {
      return { kind: 'tag', tag: second };
    }
    const isChannel =
      first === 'channel' && Object.values(accounts).some(({ id }) => id === second);
    if (isChannel && rest.length === 0) {
      return { kind: 'profile' };
    }
    const isAccount = first === accounts.demo.handle || first === accounts.second.handle;
    return isAccount && second === undefined ? { kind: 'profile' } : null;
  },
  show(post) {
    const segments = segmentsOf(post.text);
    if (post.kind === 'comment') {
      return { segments, files: [], notes: ['comment'] };
    }
    const { title, file, thumbnail } = post;
    const files = [file, thumbnail].flatMap((one) => (one ? [{ ...one, altText: '' }] : []));
    return { title, segments, files, notes: notesOf(post) };
  },
});

function notesOf(video: Video): string[] {
  const { privacy, madeForKids, isSynthetic, tags, uploadStatus, reason } = video;
  return [
    ...(privacy === 'public' ? [] : [privacy]),
    ...(madeForKids === true ? ['made for kids'] : []),
    ...(isSynthetic ? ['altered or synthetic'] : []),
    ...(uploadStatus === 'uploaded' ? ['processing'] : []),
    ...(uploadStatus === 'failed' || uploadStatus === 'rejected'
      ? [`${uploadStatus}: ${reason}`]
      : []),
    ...(tags.length > 0 ? [`tags: ${tags.join(', ')}`] : []),
  ];
}

const links =
  /(?<url>https?:\/\/[^\s<>"]*[^\s<>".,:;!?'\)\]\}])|(?<![\w\/])#(?<tag>[\p{L}\p{N}_]+)/giv;

/** Splits a text at the links that YouTube makes in a description. */
function segmentsOf(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(links)) {
    const { url, tag = '' } = match.groups ?? {};
    const href = url ?? `/youtube/hashtag/${encodeURIComponent(tag.toLowerCase())}`;
    if (url === undefined || isWebAddress(url)) {
      segments.push({ text: text.slice(end, match.index) }, { text: match[0], href });
      end = match.index + match[0].length;
    }
  }
  return [...segments, { text: text.slice(end) }].filter((segment) => segment.text !== '');
}
