import twitterText from 'twitter-text';
import { measuredOnce } from '../validation/texts.ts';

/**
 * The library takes quadratic time for words with many dots, joiners and the like: 0.15 s for one of 4500 UTF-16 units. So
 * words that may be slow are counted exactly only until the squares of their lengths add up to this.
 */
const maxSquares = 800 ** 2;
/** Without a dot there is no link, and no word is slow: a post may be one word of 140 flags, or of families. */
const maxDotless = 1600;
/** Longer than any one link that X shortens (4096): such a word is no link alone and surely too long. */
const maxLinkLength = 4500;
/** A link as people paste it, and without what makes the library try again and again: brackets, and many dashes or dots. */
const plainLink = /^\s*https?:\/\/[\x21-\x27\x2a-\x7e]+$/v;
const maxDashesAndDots = 200;
/** Several times what a post may have. Beyond it a text is counted roughly: it is refused either way. */
const maxExact = 1000;

/** With the whitespace before it, on which the library's idea of a link depends. U+FEFF is no whitespace there. */
const words = /[^\S\uFEFF]*[\S\uFEFF]+|[^\S\uFEFF]+/g;

/**
 * How long a text is for X: a link counts 23, an emoji 2, and so does a character of Chinese, Japanese or Korean.
 *
 * Exact up to 1000; beyond, what is left of the text counts its UTF-16 code units.
 *
 * Counts word by word, because the library takes quadratic time for many dots without a link. No link and no emoji goes
 * over whitespace, so the words add up to the text. A word that would take too long (`maxSquares`) counts its UTF-16 code units.
 *
 * Source: X's own library twitter-text, configuration version 3.
 */
export const weightedLength = measuredOnce((text) => {
  let length = 0;
  let counted = 0;
  let squares = 0;
  for (const [word] of text.matchAll(words)) {
    const isExact = isQuick(word) || (squares += word.length ** 2) <= maxSquares;
    length += isExact ? weigh(word) : word.length;
    counted += word.length;
    if (length > maxExact) {
      break;
    }
  }

  return length + text.length - counted;
});

const isQuick = (word: string): boolean =>
  (word.length <= maxDotless && !word.includes('.')) ||
  (word.length <= maxLinkLength &&
    plainLink.test(word) &&
    word.split(/[\-.]/v).length <= maxDashesAndDots);

const weigh = (word: string): number => twitterText.parseTweet(word).weightedLength;
