import { createHash } from 'node:crypto';
import twitterText from '../../runtime/twitter-text.ts';
import { isWebAddress, type Segment } from '../segment.ts';
import { account } from './account.ts';
import type { XPost } from './post.ts';
import type { Post } from './wire.ts';

/** Far beyond X's limit; its library is slow with longer texts. */
const surelyTooLong = 50_000;

/** Whether a text is within X's limit, as X counts it. */
export const fits = (text: string): boolean =>
  text.length < surelyTooLong && twitterText.parseTweet(text).weightedLength <= 280;

type Entity = ReturnType<typeof twitterText.extractEntitiesWithIndices>[number];

/** Splits a text at the links that X makes. @param base Path of the sandbox's X. */
export function segmentsOf(text: string, base: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const entity of twitterText.extractEntitiesWithIndices(text)) {
    const href = addressOf(entity, base);
    if (href !== undefined) {
      const [from, to] = entity.indices;
      segments.push({ text: text.slice(end, from) }, { text: text.slice(from, to), href });
      end = to;
    }
  }
  return [...segments, { text: text.slice(end) }].filter((segment) => segment.text !== '');
}

function addressOf(entity: Entity, base: string): string | undefined {
  if ('url' in entity) {
    const address = fullAddress(entity.url);
    return isWebAddress(address) ? address : undefined;
  }
  if ('hashtag' in entity) {
    return `${base}/hashtag/${encodeURIComponent(entity.hashtag.toLowerCase())}`;
  }
  const isOwn = 'screenName' in entity && entity.screenName.toLowerCase() === account.username;
  return isOwn ? `${base}/${account.username}` : undefined;
}

/** X's URL of a link without a scheme. */
const fullAddress = (link: string): string =>
  /^https?:\/\//iv.test(link) ? link : `http://${link}`;

type Link = NonNullable<NonNullable<NonNullable<Post['entities']>['urls']>[number]>;

/**
 * A text as in X's responses: each link shortened, one more link for the files, and `&`, `<` and `>` escaped.
 *
 * @returns the links with their positions in code points.
 */
export function presentText({ id, text, files }: XPost): { text: string; urls: readonly Link[] } {
  const urls: Link[] = [];
  let shown = '';
  let end = 0;
  const add = (link: Omit<Link, 'start' | 'end' | 'url'>): void => {
    const url = shortened(`${id} ${urls.length}`);
    const start = [...shown].length;
    shown += url;
    urls.push({ start, end: start + url.length, url, ...link });
  };
  for (const { url: link, indices } of twitterText.extractUrlsWithIndices(text)) {
    shown += escaped(text.slice(end, indices[0]));
    const address = fullAddress(link);
    add({ expanded_url: address, display_url: link.replace(/^https?:\/\//iv, '').slice(0, 27) });
    end = indices[1];
  }
  shown += escaped(text.slice(end));
  const [first] = files;
  if (first !== undefined) {
    shown += shown === '' ? '' : ' ';
    const kind = first.type.startsWith('video/') ? 'video' : 'photo';
    const address = `https://x.com/${account.username}/status/${id}/${kind}/1`;
    add({ expanded_url: address, display_url: `pic.x.com/${id}`, media_key: keyOf(first) });
  }
  return { text: shown, urls };
}

/** X's media key of a post's file. */
export const keyOf = ({ id, type }: { readonly id: string; readonly type: string }): string =>
  `${type.startsWith('video/') ? 13 : type === 'image/gif' ? 16 : 3}_${id}`;

const shortened = (seed: string): string => {
  const letters = createHash('sha256').update(seed).digest('base64').replaceAll(/[\W_]/gv, '');
  return `https://t.co/${letters.slice(0, 10)}`;
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
