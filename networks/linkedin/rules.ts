import { noOptions, type Content, type Rules, type ValidationResult } from '../content-rules.ts';
import { validateByLimits } from '../validation/content.ts';
import type { Limits } from '../validation/limits.ts';
import { asOnePost } from '../validation/texts.ts';

const limits: Limits = {
  name: 'LinkedIn',
  text: [
    {
      max: 3000,
      unit: 'characters',
      linkLength: null,
      emoji: '2 or more',
      // Of the text as people read it: the escapes of `little-text.ts` are gone by then.
      counting: 'UTF-16 code units, the most careful reading of "characters".',
      measure: ({ length }) => length,
    },
  ],
  files: [
    {
      one: 'image',
      max: 20,
      types: ['image/jpeg', 'image/png', 'image/gif'],
      maxPixels: 36_152_319,
      maxAltText: 4086,
    },
    // LinkedIn says 75 KB and 500 MB and not which; the wider reading leaves the rest to LinkedIn.
    {
      one: 'video',
      max: 1,
      types: ['video/mp4'],
      minBytes: 75_000,
      maxBytes: 500 * 1024 * 1024,
      minDurationMs: 3000,
      maxDurationMs: 30 * 60_000,
    },
  ],
};

export const rules: Rules = {
  threads: false,
  options: noOptions,
  // Until there is an adapter: what proxies give a server for an answer (nginx' default).
  appearsWithinMs: 60_000,
  limits: () => limits,
  validate: (content: Content): ValidationResult => validateByLimits(asOnePost(content), limits),
};
