/** Everything that LinkedIn's "little text" gives a meaning to. All of it must be escaped, always. */
const reserved = /[\\|{}@[\]()<>#*_~]/g;

/**
 * A hashtag as people write one: at the beginning of a word, of letters and digits, and not of digits alone.
 *
 * In the middle of a word or of a link (`page#part`) a # is just a #. So is one with a mark of its own: the keycap emoji
 * is a # with U+FE0F and U+20E3, which no tag contains.
 */
const hashtags =
  /(?<![^\s\(\[\{"'“‘«„¿¡])#(?!\p{M})((?=[[\p{M}\p{N}]--[\uFE0F\u20E3]]*\p{L})[[\p{L}\p{M}\p{N}]--[\uFE0F\u20E3]]+)/gv;

/**
 * A plain text in LinkedIn's "little text", in which posts are sent: it shows as it was written, and its hashtags are
 * live. A reserved character that is not escaped would cut the post off there, while LinkedIn reports a success.
 *
 * There are no mentions in it: those need the URN of a member, which a plain text does not have.
 *
 * Linear time over all strings; never throws.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
 *
 * @example littleText('Hi (all) #news') // 'Hi \(all\) {hashtag|\#|news}'
 */
export function littleText(text: string): string {
  let little = '';
  let end = 0;
  for (const { 0: whole, 1: tag, index } of text.matchAll(hashtags)) {
    little += `${escaped(text.slice(end, index))}{hashtag|\\#|${tag}}`;
    end = index + whole.length;
  }

  return little + escaped(text.slice(end));
}

const escaped = (text: string): string => text.replaceAll(reserved, '\\$&');

/** The text behind a little text that LinkedIn gives back; it may escape more or less than we do. */
export const plainText = (little: string): string =>
  little.replaceAll(
    /\{hashtag\|\\?[#＃]\|(?<tag>[^\|\{\}]*)\}|\\(?<escaped>.)/gsv,
    (_, tag: string | undefined, char: string) => (tag === undefined ? char : `#${tag}`),
  );
