import { answerReader } from '../answer.ts';
import {
  noOptions,
  type Content,
  type MediaFacts,
  type Rules,
  type ValidationResult,
} from '../content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';
import { durationOf } from '../validation/amounts.ts';
import { validateByLimits } from '../validation/content.ts';
import { hasType, isImage, isVideo, nameOf } from '../validation/files.ts';
import type { Limits } from '../validation/limits.ts';
import { countGraphemes } from '../validation/texts.ts';

/** What Bluesky's apps take; the servers do not look. */
const appMaxDurationMs = 3 * 60_000;

/** Both lengths count: a text of emoji families reaches the bytes first. Source: lexicon `app.bsky.feed.post`. */
const text: Limits['text'] = [
  {
    max: 300,
    unit: 'graphemes',
    linkLength: null,
    emoji: null,
    counting: 'Grapheme clusters: characters as people see them, so the emoji of a family is 1.',
    measure: countGraphemes,
  },
  {
    max: 3000,
    unit: 'bytes',
    linkLength: null,
    emoji: null,
    counting: 'Bytes of UTF-8.',
    measure: (given) => Buffer.byteLength(given),
  },
];

const limitsOf = (settings: Json): Limits => ({
  name: 'Bluesky',
  text,
  files: [
    // Source: lexicon `app.bsky.embed.images`, which takes images of all types.
    { one: 'image', max: 4, types: ['image/*'], maxBytes: 2_000_000 },
    {
      one: 'video',
      max: 1,
      types: ['video/mp4'],
      maxBytes: blueskySettings(settings).maxVideoBytes,
    },
  ],
});

export const rules: Rules = {
  threads: true,
  options: noOptions,
  // A second write under the same keys is refused, but the post may be edited meanwhile, and then has others. What
  // stands before a PDS (nginx, a load balancer) gives it 60 s; a write takes far less than a second.
  appearsWithinMs: 60_000,
  limits: limitsOf,
  validate: (content: Content, settings: Json): ValidationResult =>
    validateByLimits(content, limitsOf(settings), { fileWarnings: showsOtherwise }),
};

const shown = hasType('image/jpeg', 'image/png', 'image/webp');

/** What Bluesky takes and shows in another way than one may think. */
function showsOtherwise(file: MediaFacts): string[] {
  if (file.type === 'image/gif') {
    return [`Bluesky shows a GIF as a still image, and ${nameOf(file)} is one.`];
  }

  if (isImage(file) && !shown(file)) {
    return [`Bluesky's apps may not show ${nameOf(file)}: they are made for JPEG, PNG and WebP.`];
  }

  return isVideo(file) && (file.durationMs ?? 0) > appMaxDurationMs
    ? [
        `${nameOf(file)} lasts ${durationOf(file.durationMs ?? 0)}; Bluesky's apps are made for videos of up to ${durationOf(appMaxDurationMs)}.`,
      ]
    : [];
}

export type BlueskySettings = {
  /** Where people read the posts, without a trailing slash: a channel of another app than Bluesky's has its own. */
  readonly webUrl: string;
  /** What the account's PDS takes as one blob. No PDS tells it, so an operator whose PDS takes less sets it. */
  readonly maxVideoBytes: number;
};

const defaults: BlueskySettings = {
  webUrl: 'https://bsky.app',
  // What Bluesky's own servers take for a video. A PDS as it comes out of the box takes 5 MiB.
  maxVideoBytes: 100_000_000,
};

const read = answerReader<Partial<BlueskySettings>>({
  type: 'object',
  properties: {
    webUrl: { type: 'string', pattern: '^https?://[^/]' },
    maxVideoBytes: { type: 'integer', minimum: 1 },
  },
});

/** The settings of a channel; a channel without them has Bluesky's own app and servers. */
export const blueskySettings = (settings: Json): BlueskySettings => ({
  ...defaults,
  ...read(settings),
});
