import { normalized } from '../../domain/texts.ts';
import { readHtml } from '../html-pieces.ts';
import type { Status } from './statuses.ts';

/** A text that is looked for, in the forms that statuses are compared in. Made once: a text may be long. */
export type SoughtText = {
  readonly letters: string;
  readonly bare: string;
  readonly normal: string;
  readonly words: ReadonlySet<string>;
  /** The longest that a status of this text can be, in UTF-16 units. A longer one, of up to two megabytes, is another. */
  readonly maxRead: number;
};

/** A mention or a hashtag of one letter becomes a link of up to 300 characters, and nothing becomes longer than that. */
const mostMarkup = 100;
const spareMarkup = 4000;

export const soughtText = (text: string): SoughtText => ({
  letters: lettersOf(text),
  bare: bare(text),
  normal: normal(text),
  words: wordsOf(text),
  maxRead: text.length * mostMarkup + spareMarkup,
});

/** Whether the raw text of a status is the text that was sent. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxRead && normal(source) === sought.normal;

/**
 * Whether the raw text of a status is what a server may have made of the text: other quotation marks, spaces or dots, a
 * mention without its host. Compared as its HTML is.
 */
export const isAlikeSource = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxRead && isAlike(source, sought);

/**
 * Whether a status says what was sent, by its HTML alone.
 *
 * Servers turn marks into formatting, quotation marks into others and links into shortened ones, so only letters
 * and digits are compared, links by their target, and mentions without their host. Rather too generous than too
 * strict: to miss our own status would post it twice. A text without letters and digits is compared whole.
 */
export const isSameContent = ({ content = '' }: Status, sought: SoughtText): boolean =>
  content.length <= sought.maxRead && isAlike(plain(content), sought);

/** How many of a text's words a status has, in its HTML or its links. */
export function sharedWords({ content = '' }: Status, { words, maxRead }: SoughtText): number {
  const html = content.slice(0, maxRead);
  const shown = wordsOf(`${plain(html)} ${html.replaceAll(/<[^<>]*>/gu, ' ')}`);
  return [...words].filter((word) => shown.has(word)).length;
}

function isAlike(said: string, sought: SoughtText): boolean {
  const letters = lettersOf(said);
  return letters === sought.letters && (letters !== '' || bare(said) === sought.bare);
}

/**
 * The text of a status's HTML, with the target in place of a link's shortened words. A link ends with the paragraph at the
 * latest.
 */
function plain(html: string): string {
  let text = '';
  let isShown = true;
  readHtml(html, {
    onTag: (name, attributes) => {
      if (name === 'a') {
        const target = isMarked(attributes) ? undefined : attributes.get('href');
        text += target ?? '';
        isShown = target === undefined;
      }
    },
    onEndTag: (name) => {
      isShown ||= name === 'a' || name === 'p';
    },
    onText: (words) => {
      text += isShown ? words : '';
    },
  });
  return text;
}

/** Mentions and hashtags are links too, but their words are what was written. */
const isMarked = (attributes: ReadonlyMap<string, string>): boolean =>
  /\b(?:mention|hashtag)\b/u.test(attributes.get('class') ?? '') ||
  (attributes.get('rel') ?? '').startsWith('tag');

const lettersOf = (text: string): string =>
  normalized(withoutHosts(text), 'NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const bare = (text: string): string => normalized(text, 'NFC').replaceAll(/\s/gu, '');

const normal = (text: string): string => normalized(text, 'NFC').replaceAll('\r\n', '\n').trim();

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    normalized(text, 'NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );

const withoutHosts = (text: string): string =>
  text.replaceAll(
    /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu,
    '$1',
  );
