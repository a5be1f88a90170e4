import { wholeCharacters } from '../../domain/texts.ts';
import { readHtml } from '../html-pieces.ts';

/** The metadata of a page for previews. Empty where the page has none. */
export type PageFacts = {
  readonly title: string;
  readonly description: string;
  /** The address of a picture, as the page has it. */
  readonly image: string;
};

const maxTitle = 300;
const maxDescription = 600;
const maxAddress = 2000;

/** By their rank: the first that a page has counts. Sources: https://ogp.me, https://html.spec.whatwg.org (`meta`). */
const names = {
  title: ['og:title', 'twitter:title'],
  description: ['og:description', 'twitter:description', 'description'],
  image: ['og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src'],
} as const;

const known: ReadonlySet<string> = new Set(Object.values(names).flat());

/**
 * Reads the beginning of a page, in time linear to its length. The page is a stranger's: what it says is text and nothing
 * else, bounded, on one line.
 */
export function pageFacts(html: string): PageFacts {
  const said = new Map<string, string>();
  let title = '';
  let isTitle = false;
  readHtml(html, {
    onTag: (name, attributes) => {
      const key = (attributes.get('property') ?? attributes.get('name') ?? '').toLowerCase();
      const content = attributes.get('content') ?? '';
      if (name === 'meta' && known.has(key) && !said.has(key) && content.trim() !== '') {
        said.set(key, content);
      }
      // A drawing in the page may have a title as well.
      isTitle = name === 'title' && title === '';
    },
    onEndTag: () => {
      isTitle = false;
    },
    onText: (words) => {
      title += isTitle && title.length < maxTitle * 2 ? words : '';
    },
  });
  const first = (keys: readonly string[]): string =>
    keys.map((key) => said.get(key) ?? '').find((value) => value !== '') ?? '';
  return {
    title: clean(first(names.title) || title, maxTitle),
    description: clean(first(names.description), maxDescription),
    image: first(names.image).trim().slice(0, maxAddress),
  };
}

const codePoints = (text: string): number => Array.from(text).length;

/** On one line, and with at most so many code points. No character is cut in two. */
function clean(text: string, most: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gv, ' ')
    .trim();
  return wholeCharacters(line, most, codePoints) === line
    ? line
    : `${wholeCharacters(line, most - 1, codePoints)}…`;
}
