import { Parser } from 'htmlparser2';
import type { Status } from './answers.ts';

/** Whether the raw text of a status is the text that was sent. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, text: string): boolean =>
  normal(source) === normal(text);

/**
 * Whether the raw text of a status is what a server may have made of the text: other quotation marks, spaces or dots, a
 * mention without its host. Compared as its HTML is.
 */
export const isAlikeSource = (source: string, text: string): boolean => isAlike(source, text);

/** How many of a text's words a status has, in its HTML or its links. */
export function sharedWords({ content = '' }: Status, text: string): number {
  const shown = wordsOf(`${plain(content)} ${content.replaceAll(/<[^<>]*>/gu, ' ')}`);
  return [...wordsOf(text)].filter((word) => shown.has(word)).length;
}

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );

const normal = (text: string): string => text.normalize('NFC').replaceAll('\r\n', '\n').trim();

/**
 * Whether a status says what was sent, by its HTML alone.
 *
 * Servers turn marks into formatting, quotation marks into others and links into shortened ones, so only letters
 * and digits are compared, links by their target, and mentions without their host. Rather too generous than too
 * strict: to miss our own status would post it twice. A text without letters and digits is compared whole.
 */
export const isSameContent = ({ content = '' }: Status, text: string): boolean =>
  isAlike(plain(content), text);

function isAlike(said: string, text: string): boolean {
  const [letters, sent] = [lettersOf(said), lettersOf(text)];
  return letters === sent && (sent !== '' || bare(said) === bare(text));
}

type Attributes = Readonly<Record<string, string>>;

/** The text of a status's HTML, with the target in place of a link's shortened words. In time linear to its length. */
function plain(html: string): string {
  let text = '';
  let isShown = true;
  const parser = new Parser({
    onopentag: (name, attributes: Attributes) => {
      if (name === 'a' && attributes['href'] !== undefined && !isMarked(attributes)) {
        text += attributes['href'];
        isShown = false;
      }
    },
    onclosetag: (name) => {
      isShown ||= name === 'a';
    },
    ontext: (words) => {
      text += isShown ? words : '';
    },
  });
  parser.end(html);
  return text;
}

/** Mentions and hashtags are links too, but their words are what was written. */
const isMarked = ({ class: names = '', rel = '' }: Attributes): boolean =>
  /\b(?:mention|hashtag)\b/u.test(names) || rel.startsWith('tag');

const lettersOf = (text: string): string =>
  withoutHosts(text)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const bare = (text: string): string => text.normalize('NFC').replaceAll(/\s/gu, '');

const withoutHosts = (text: string): string =>
  text.replaceAll(
    /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu,
    '$1',
  );
