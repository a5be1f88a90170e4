import { wholeCharacters } from '../../domain/texts.ts';
import { readHtml } from '../html-pieces.ts';

/** A page's metadata for previews. Empty strings where the page has none. */
export type PageFacts = {
  readonly title: string;
  readonly description: string;
  /** The URL of a picture, as written in the page. */
  readonly image: string;
};

const maxTitle = 300;
const maxDescription = 600;
const maxAddress = 2000;

/** In order of precedence. Sources: https://ogp.me, https://html.spec.whatwg.org (`meta`). */
const names = {
  title: ['og:title', 'twitter:title'],
  description: ['og:description', 'twitter:description', 'description'],
  image: ['og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src'],
} as const;

const known: ReadonlySet<string> = new Set(Object.values(names).flat());

/**
 * Reads the beginning of a page, in time linear to its length. The page is untrusted, so its metadata become plain
 * text, bounded and on one line.
 */
export function pageFacts(html: string): PageFacts {
  const metadata = new Map<string, string>();
  let title = '';
  let isTitle = false;
  readHtml(html, {
    onTag: (name, attributes) => {
      const key = (attributes.get('property') ?? attributes.get('name') ?? '').toLowerCase();
      const content = attributes.get('content') ?? '';
      if (name === 'meta' && known.has(key) && !metadata.has(key) && content.trim() !== '') {
        metadata.set(key, content);
      }
      // An SVG in the page may have a title as well, so only the first title counts.
      isTitle = name === 'title' && title === '';
    },
    onEndTag: () => {
      isTitle = false;
    },
    onText: (text) => {
      title += isTitle && title.length < maxTitle * 2 ? text : '';
    },
  });
  const first = (keys: readonly string[]): string =>
    keys.map((key) => metadata.get(key) ?? '').find((value) => value !== '') ?? '';
  return {
    title: clean(first(names.title) || title, maxTitle),
    description: clean(first(names.description), maxDescription),
    image: first(names.image).trim().slice(0, maxAddress),
  };
}

const codePoints = (text: string): number => Array.from(text).length;

/** Puts a text on one line and limits its code points, without splitting a character. */
function clean(text: string, most: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gv, ' ')
    .trim();
  return wholeCharacters(line, most, codePoints) === line
    ? line
    : `${wholeCharacters(line, most - 1, codePoints)}…`;
}
