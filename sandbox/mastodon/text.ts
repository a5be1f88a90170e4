import { account as demo } from './account.ts';
import { html, type Html } from '../../runtime/html.ts';
import { isWebAddress, type Segment } from '../segment.ts';

export const maxCharacters = 500;
export const charactersPerUrl = 23;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const parts =
  /(?<url>https?:\/\/[^\s<>"]*[^\s<>".,:;!?'\)\]\}])|(?<![\w\/])@(?<user>\w+)(?:@(?<domain>[\w.\-]+\w))?|(?<![\w\/])#(?<tag>[\p{L}\p{N}_]*[\p{L}_][\p{L}\p{N}_]*)/giv;

/**
 * The length of a status in grapheme clusters, as Mastodon counts it. A link counts 23, and of a mention on another
 * server only the name counts.
 *
 * Source: https://docs.joinmastodon.org/user/posting/#text
 */
export function countCharacters(text: string): number {
  const counted = text.replaceAll(parts, (match, url?: string, user?: string) => {
    if (url !== undefined) {
      return 'x'.repeat(charactersPerUrl);
    }
    return user === undefined ? match : `@${user}`;
  });
  return countGraphemes(counted);
}

export function countGraphemes(text: string): number {
  return [...graphemes.segment(text)].length;
}

/** Splits a text at the links that Mastodon makes. @param base Base URL of the sandbox's Mastodon. */
export function segmentsOf(text: string, base: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(parts)) {
    const href = addressOf(match.groups ?? {}, base);
    if (href !== undefined) {
      segments.push({ text: text.slice(end, match.index) }, { text: match[0], href });
      end = match.index + match[0].length;
    }
  }
  return [...segments, { text: text.slice(end) }].filter((segment) => segment.text !== '');
}

/** The distinct tags in a text, in lower case. */
export function tagsOf(text: string): string[] {
  const names = [...text.matchAll(parts)].flatMap((match) => match.groups?.['tag'] ?? []);
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

/** The HTML `content` of a status: blank lines separate paragraphs, other line ends become breaks. */
export function contentOf(text: string, base: string): Html {
  return html`${text
    .split(/\n{2,}/v)
    .map((paragraph) => html`<p>${segmentsOf(paragraph, base).map(markupOf)}</p>`)}`;
}

function markupOf({ text, href }: Segment): Html {
  const lines = text.split('\n').map((line, n) => (n === 0 ? html`${line}` : html`<br />${line}`));
  return href === undefined ? html`${lines}` : html`<a href="${href}" rel="nofollow">${lines}</a>`;
}

function addressOf(groups: Record<string, string | undefined>, base: string): string | undefined {
  const { url, user, domain, tag } = groups;
  if (url !== undefined) {
    return isWebAddress(url) ? url : undefined;
  }
  if (tag !== undefined) {
    return `${base}/tags/${encodeURIComponent(tag.toLowerCase())}`;
  }
  if (domain !== undefined && domain !== demo.domain) {
    return `https://${domain}/@${user}`;
  }
  return user?.toLowerCase() === demo.username ? `${base}/@${demo.username}` : undefined;
}
