import type { Json } from '../../domain/json-schema.ts';
import type { Content, AttachmentFacts, Rules, ValidationResult } from '../content-rules.ts';
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
      // Measured on the plain text: the escapes of `little-text.ts` do not count.
      counting: 'UTF-16 code units, the strictest reading of "characters".',
      measure: ({ length }) => length,
    },
  ],
  files: [
    {
      one: 'image',
      max: 20,
      types: ['image/jpeg', 'image/png', 'image/gif'],
      maxPixels: 36_152_319,
      // Of the allowed types, only GIFs have several frames.
      maxFrames: 250,
      maxAltText: 4086,
    },
    // LinkedIn documents 75 KB and 500 MB without defining the units, so the wider reading is used.
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
  // A request begins within 10 s of its intent and times out after 30 s; the rest is for LinkedIn.
  appearsWithinMs: 60_000,
  // A member's post takes five requests, one per metric.
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
        `The page of an organisation has no connections: its visibility on LinkedIn must be PUBLIC, not ${visibility}.`,
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

const altTextWarnings = (file: AttachmentFacts): string[] =>
  isVideo(file) && file.altText !== null
    ? [`LinkedIn has no alt text for videos: that of ${nameOf(file)} is left out.`]
    : [];
