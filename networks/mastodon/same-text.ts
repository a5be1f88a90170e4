import type { Status } from './answers.ts';

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** Whether the raw text of a status is the text that was sent. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, text: string): boolean =>
  normal(source) === normal(text);

const normal = (text: string): string => text.normalize('NFC').replaceAll('\r\n', '\n').trim();

/**
 * Whether a status says what was sent, judged by its HTML alone.
 *
 * Servers turn marks into formatting, quotation marks into others and links into shortened ones, so only letters
 * and digits are compared, links by their target, and mentions without their host. Rather too generous than too
 * strict: to miss our own status would post it twice. A text without letters and digits is compared whole.
 */
export function isSameContent(status: Status, text: string): boolean {
  const content = plain(status.content ?? '');
  const [letters, sent] = [lettersOf(content), lettersOf(text)];
  return letters === sent && (sent !== '' || bare(content) === bare(text));
}

/** The text of a status's HTML, with the target in place of a link's shortened words. In time linear to its length. */
function plain(html: string): string {
  let text = '';
  let isShown = true;
  for (const [token] of html.matchAll(/<[^<>]*>|[^<]+|</gu)) {
    const [, end, name = '', attributes = ''] = /^<(\/?)([a-z]+)\b([^<>]*)>$/iu.exec(token) ?? [];
    const isLink = name.toLowerCase() === 'a';
    const target = isLink && !end && !isMarked(attributes) ? hrefOf(attributes) : undefined;
    if (target !== undefined) {
      text += target;
      isShown = false;
    } else if (isLink && end) {
      isShown = true;
    } else if (isShown && !token.startsWith('<')) {
      text += token;
    }
  }

  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,8}));/giu, decoded);
}

const hrefOf = (attributes: string): string | undefined =>
  /\bhref="([^"]*)"/iu.exec(attributes)?.[1];

/** Mentions and hashtags are links too, but their words are what was written. */
const isMarked = (attributes: string): boolean =>
  /\bclass="[^"]*\b(?:mention|hashtag)\b/iu.test(attributes) || /\brel="tag/iu.test(attributes);

function decoded(entity: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) {
    return entities[name.toLowerCase()] ?? entity;
  }

  const codePoint = Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10);
  return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : entity;
}

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
