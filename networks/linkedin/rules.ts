import type { Json } from '../../domain/json-schema.ts';
import type { Content, MediaFacts, Rules, ValidationResult } from '../content-rules.ts';
import { numberOf } from '../validation/amounts.ts';
import { validateByLimits } from '../validation/content.ts';
import { isVideo, nameOf } from '../validation/files.ts';
import type { Limits } from '../validation/limits.ts';
import { asOnePost, isBlank } from '../validation/texts.ts';
import { linkedinSettings } from './settings.ts';
import { choiceOf, maxCommentLength, optionsSchema, type Choice } from './options.ts';

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
      // Only GIFs have several frames here.
      maxFrames: 250,
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
  comments: true,
  options: optionsSchema,
  // The request is written within 10 s of its intent and given up after 30 s; the rest is LinkedIn's own.
  appearsWithinMs: 60_000,
  // A member's post takes five requests, one for each metric.
  metricsEveryMs: 6 * 60 * 60_000,
  limits: () => limits,
  validate(content: Content, settings: Json): ValidationResult {
    const post = asOnePost(content);
    const result = validateByLimits(post, limits, { fileWarnings: altTextWarnings });
    const choice = choiceOf(post.options);
    const isPage = linkedinSettings(settings).isOrganization;
    return {
      ...result,
      errors: [...result.errors, ...visibilityFaults(choice, isPage), ...commentFaults(choice)],
    };
  },
};

const visibilityFaults = ({ visibility }: Choice, isPage: boolean): string[] =>
  isPage && visibility !== 'PUBLIC'
    ? [
        `The page of an organisation has no connections: its visibility on LinkedIn is PUBLIC, and this is ${visibility}.`,
      ]
    : [];

function commentFaults({ firstComment }: Choice): string[] {
  if (firstComment === undefined) {
    return [];
  }

  const { length } = firstComment;
  const tooLong = `The first comment is too long for LinkedIn: it takes ${numberOf(maxCommentLength)} characters, and this is ${length}.`;
  return [
    ...(length > maxCommentLength ? [tooLong] : []),
    ...(isBlank(firstComment) ? ['There is no text in the first comment.'] : []),
  ];
}

const altTextWarnings = (file: MediaFacts): string[] =>
  isVideo(file) && file.altText !== null
    ? [`LinkedIn has no alt text for videos: that of ${nameOf(file)} is left out.`]
    : [];
