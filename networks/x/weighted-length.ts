import twitterText from 'twitter-text';

/** Longer than any one link that X shortens (4096), so such a word is no link alone and surely too long. */
const maxWordLength = 4500;
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
 * over whitespace, so the words add up to the text. A slow word is a heavy one, so it is the last that is counted so.
 *
 * Source: X's own library twitter-text, configuration version 3.
 */
export function weightedLength(text: string): number {
  let length = 0;
  let counted = 0;
  for (const [word] of text.matchAll(words)) {
    length += word.length > maxWordLength ? word.length : weigh(word);
    counted += word.length;
    if (length > maxExact) {
      break;
    }
  }

  return length + text.length - counted;
}

const weigh = (word: string): number => twitterText.parseTweet(word).weightedLength;
