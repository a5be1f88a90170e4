import { normalized } from '../../domain/texts.ts';
import { readHtml } from '../html-pieces.ts';
import type { Status } from './statuses.ts';

/** The sent text, in the forms that statuses are compared in. Made once, because a text may be long. */
export type SoughtText = {
  readonly letters: string;
  readonly bare: string;
  readonly normal: string;
  readonly words: ReadonlySet<string>;
  /** Longest possible status of this text, in UTF-16 units. A longer one (up to two megabytes) is another status. */
  readonly maxRead: number;
};

/** A one-letter mention or hashtag becomes a link of up to 300 characters, the largest growth. */
const mostMarkup = 100;
const spareMarkup = 4000;

export const soughtText = (text: string): SoughtText => ({
  letters: lettersOf(text),
  bare: bare(text),
  normal: normal(text),
  words: wordsOf(text),
  maxRead: text.length * mostMarkup + spareMarkup,
});

/** Whether a status's source equals the sent text. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxRead && normal(source) === sought.normal;

/**
 * Whether a status's source is the sent text after a server's changes: other quotation marks, spaces or dots, a mention
 * without its host. Compared like the HTML.
 */
export const isAlikeSource = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxRead && isAlike(source, sought);

/**
 * Whether a status has the sent text, judged by its HTML alone.
 *
 * Servers turn marks into formatting, replace quotation marks and shorten links. So only letters and digits are
 * compared, links by their target, and mentions without their host. A false match is better than a miss, which would
 * post twice. A text without letters and digits is compared whole.
 */
export const isSameContent = ({ content = '' }: Status, sought: SoughtText): boolean =>
  content.length <= sought.maxRead && isAlike(plain(content), sought);

/** How many of the text's words appear in a status's HTML or links. */
export function sharedWords({ content = '' }: Status, { words, maxRead }: SoughtText): number {
  const html = content.slice(0, maxRead);
  const shown = wordsOf(`${plain(html)} ${html.replaceAll(/<[^<>]*>/gu, ' ')}`);
  return [...words].filter((word) => shown.has(word)).length;
}

function isAlike(candidate: string, sought: SoughtText): boolean {
  const letters = lettersOf(candidate);
  return letters === sought.letters && (letters !== '' || bare(candidate) === sought.bare);
}

/**
 * The text of a status's HTML, with the targets of links instead of their shortened texts. A link ends with its
 * paragraph at the latest.
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
    onText: (piece) => {
      text += isShown ? piece : '';
    },
  });
  return text;
}

/** Mentions and hashtags are links too, but their text is the original one. */
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
