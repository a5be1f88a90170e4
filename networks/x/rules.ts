import twitterText from 'twitter-text';
import { noOptions, type Content, type Rules, type ValidationResult } from '../content-rules.ts';
import { validateByLimits } from '../validation/content.ts';
import type { Limits } from '../validation/limits.ts';

const maxCashtags = 1;

/** X counts a MB as 1024 × 1024 bytes. Source: https://docs.x.com/x-api/media/quickstart/best-practices */
const megabyte = 1024 * 1024;
const limits: Limits = {
  name: 'X',
  text: [
    {
      max: 280,
      unit: 'characters',
      linkLength: 23,
      emoji: '2',
      counting:
        "Weighted as by X's library twitter-text: most characters count 1, emoji and those of Chinese, Japanese and Korean 2, and every link 23.",
      measure: weightedLength,
    },
  ],
  files: [
    {
      one: 'image',
      max: 4,
      types: ['image/jpeg', 'image/png', 'image/webp'],
      maxBytes: 5 * megabyte,
      maxAltText: 1000,
    },
    { one: 'GIF', max: 1, types: ['image/gif'], maxBytes: 15 * megabyte, maxAltText: 1000 },
    {
      one: 'video',
      max: 1,
      types: ['video/mp4', 'video/quicktime'],
      maxBytes: 512 * megabyte,
      minDurationMs: 500,
      maxDurationMs: 140_000,
      maxAspect: 3,
    },
  ],
};

export const rules: Rules = {
  threads: true,
  options: noOptions,
  // Until there is an adapter: what proxies give a server for an answer (nginx' default).
  appearsWithinMs: 60_000,
  limits: () => limits,
  validate: (content: Content): ValidationResult =>
    validateByLimits(content, limits, { text: contentFaults }),
};

/** Only for texts that are short enough to be looked through by patterns that are not ours. */
function contentFaults(text: string): readonly string[] {
  const faults: string[] = [];
  const cashtags = twitterText.extractCashtags(text).map((tag) => `$${tag}`);
  if (cashtags.length > maxCashtags) {
    const list = cashtags.join(', ');
    faults.push(
      `X takes at most ${maxCashtags} cashtag in a post, and this has ${cashtags.length}: ${list}.`,
    );
  }

  const [invalid] = /[\uFFFE\uFEFF\uFFFF]/.exec(text) ?? [];
  if (invalid !== undefined) {
    const code = invalid.charCodeAt(0).toString(16).toUpperCase();
    faults.push(`X takes no text with the invisible character U+${code} in it, and this has one.`);
  }

  return faults;
}

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
