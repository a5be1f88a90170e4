import twitterText from 'twitter-text';
import type { Content, Rules, ValidationResult } from '../content-rules.ts';
import { validateByLimits } from '../validation/content.ts';
import type { Limits } from '../validation/limits.ts';
import { fileErrors, fileWarnings, maxFrameRate } from './file-rules.ts';
import { optionsSchema } from './options.ts';
import { priceOf, type Prices } from './prices.ts';
import { weightedLength } from './weighted-length.ts';

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
      minSide: 4,
      maxSides: [8192, 8192],
      maxAltText: 1000,
    },
    {
      one: 'GIF',
      max: 1,
      types: ['image/gif'],
      maxBytes: 15 * megabyte,
      maxSides: [1280, 1080],
      maxFrames: 350,
      maxPixelsOfAllFrames: 300_000_000,
      maxAltText: 1000,
    },
    {
      one: 'video',
      max: 1,
      types: ['video/mp4', 'video/quicktime'],
      maxBytes: 8 * 1024 * megabyte,
      maxFrameRate,
      minDurationMs: 500,
      // The limit without Premium; Premium accounts may post 125 minutes.
      maxDurationMs: 20 * 60_000,
      maxAspect: 3,
    },
  ],
};

/**
 * @param prices X's prices, for `priceUsd`.
 * @param readEveryHours The operator's interval between reads of a post's metrics, which X charges too.
 */
export const xRules = (prices: Prices, readEveryHours: number): Rules => ({
  threads: true,
  options: optionsSchema,
  // X documents no bound. Proxies wait up to 60 s for a server's response (nginx' default).
  appearsWithinMs: 60_000,
  metricsEveryMs: readEveryHours * 60 * 60_000,
  limits: () => limits,
  validate(content: Content): ValidationResult {
    const result = validateByLimits(content, limits, {
      text: contentFaults,
      fileErrors,
      fileWarnings,
    });
    if (result.errors.length > 0) {
      return result;
    }

    const warnings = [...result.warnings, ...duplicateWarnings(content)];
    return { ...result, warnings, priceUsd: priceOf(content, prices) };
  },
});

/** X refuses a text that the account posted shortly before, unless a link to its files makes it different. */
function duplicateWarnings({ texts, media }: Content): string[] {
  const bare = texts.map((text, index) => ((media[index] ?? []).length > 0 ? '' : text.trim()));
  return bare.flatMap((text, index) => {
    const first = bare.indexOf(text);
    return text !== '' && first < index
      ? [`X may refuse part ${index + 1} as a duplicate: it says the same as part ${first + 1}.`]
      : [];
  });
}

/** Only for texts of a limited length, because the library's patterns may be slow. */
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
    faults.push(
      `X refuses texts with the invisible character U+${code}, and this one contains it.`,
    );
  }

  return faults;
}
