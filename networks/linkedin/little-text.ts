/** Characters with a meaning in LinkedIn's "little text". All of them must always be escaped. */
const reserved = /[\\|{}@[\]()<>#*_~]/g;

/**
 * A hashtag: at the beginning of a word, of letters and digits, but not of digits alone.
 *
 * In the middle of a word or of a link (`page#part`) a # is plain text. So is a # with combining marks, such as the
 * keycap emoji (U+FE0F and U+20E3), which a tag cannot contain.
 */
const hashtags =
  /(?<![^\s\(\[\{"'“‘«„¿¡])#(?!\p{M})((?=[[\p{M}\p{N}]--[\uFE0F\u20E3]]*\p{L})[[\p{L}\p{M}\p{N}]--[\uFE0F\u20E3]]+)/gv;

/**
 * Converts a plain text to LinkedIn's "little text", in which posts are sent: it displays as written, with live
 * hashtags. LinkedIn cuts a post off at an unescaped reserved character, and still reports success.
 *
 * Mentions are not supported: they need the URN of a member.
 *
 * Linear time for all strings; never throws.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
 *
 * @example littleText('Hi (all) #news') // 'Hi \(all\) {hashtag|\#|news}'
 */
export function littleText(text: string): string {
  let little = '';
  let end = 0;
  for (const { 0: match, 1: tag, index } of text.matchAll(hashtags)) {
    little += `${escaped(text.slice(end, index))}{hashtag|\\#|${tag}}`;
    end = index + match.length;
  }

  return little + escaped(text.slice(end));
}

const escaped = (text: string): string => text.replaceAll(reserved, '\\$&');

/** Converts a little text from LinkedIn to plain text. LinkedIn may escape more or less than we do. */
export const plainText = (little: string): string =>
  little.replaceAll(
    /\{hashtag\|\\?[#＃]\|(?<tag>[^\|\{\}]*)\}|\\(?<escaped>.)/gsv,
    (_, tag: string | undefined, char: string) => (tag === undefined ? char : `#${tag}`),
  );
