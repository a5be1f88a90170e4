import { mayHave, type Json, type Value } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import {
  defineOptions,
  linkCardOption,
  type AttachmentFacts,
  type Limits,
  type Rules,
} from '../content-rules.ts';
import { sentences, validateByLimits } from '../validation/content.ts';
import {
  animatedFormat,
  durationOf,
  sizesOf,
  hasType,
  isImage,
  isVideo,
  nameOf,
} from '../validation/files.ts';
import { countGraphemes } from '../validation/texts.ts';

/** The limit of Bluesky's apps; the servers do not check it. */
const appMaxDurationMs = 3 * 60_000;

/** Both limits apply: a text of family emojis reaches the bytes first. Source: lexicon `app.bsky.feed.post`. */
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
    // Source: lexicon `app.bsky.embed.images`, which accepts all image types. Larger images are re-encoded, so this
    // limit is ours.
    {
      one: 'image',
      max: 4,
      types: ['image/*'],
      maxBytes: 50_000_000,
    },
    {
      one: 'video',
      max: 1,
      types: ['video/mp4'],
      maxBytes: blueskySettings(settings).maxVideoBytes,
    },
  ],
});

/** Labels that accounts may put on their own posts. Source: https://docs.bsky.app/docs/advanced-guides/moderation */
const labels = ['sexual', 'nudity', 'porn', 'graphic-media'] as const;

/**
 * The lexicon's format `language`, without private tags: language, script, region, variants, extensions.
 * Source: lexicon `app.bsky.feed.post`, RFC 5646 section 2.1.
 */
const language =
  '^[a-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[A-WY-Za-wy-z0-9](?:-[A-Za-z0-9]{2,8})+)*$';

const { schema, chosenIn } = defineOptions({
  langs: {
    type: 'array',
    maxItems: 3,
    uniqueItems: true,
    items: { type: 'string', pattern: language, maxLength: 35, examples: ['en', 'pt-BR'] },
    description: 'Languages of the text, up to three, as BCP 47 tags such as `en` or `pt-BR`.',
  },
  labels: {
    type: 'array',
    maxItems: labels.length,
    uniqueItems: true,
    items: { type: 'string', enum: labels },
    description: 'Content warnings that readers see before the post.',
  },
  link_card: linkCardOption,
});

export { chosenIn };

export const rules: Rules = {
  threads: true,
  options: schema,
  // A second write under the same keys is refused, unless the post was edited in between and got other keys. A proxy
  // before a PDS (nginx, a load balancer) waits up to 60 s; a write takes far less than a second.
  canUnpublish: true,
  appearsWithinMs: 60_000,
  limits: limitsOf,
  validate: (content, settings) =>
    validateByLimits(content, limitsOf(settings), {
      fileWarnings: (file) => fileWarnings(file, blueskySettings(settings).maxImageBytes),
    }),
};

const shown = hasType('image/jpeg', 'image/png', 'image/webp');

/** Warnings about files that Bluesky shows differently than expected, or may refuse. */
function fileWarnings(file: AttachmentFacts, maxImageBytes: number): string[] {
  const { type, sizeBytes } = file;
  const name = nameOf(file);
  const durationMs = file.durationMs ?? 0;
  const still = type === 'image/gif' ? 'a GIF' : `an animated ${animatedFormat(file)}`;
  const isStill = type === 'image/gif' || animatedFormat(file) !== undefined;
  const [imageLimit, imageSize] = sizesOf(maxImageBytes, sizeBytes);
  return sentences(
    isStill && `Bluesky shows ${still} as a still image, and ${name} is one.`,
    isImage(file) &&
      !isStill &&
      !shown(file) &&
      `Bluesky's apps may not show ${name}: they are made for JPEG, PNG and WebP.`,
    isVideo(file) &&
      durationMs > appMaxDurationMs &&
      `${name} lasts ${durationOf(durationMs)}; Bluesky's apps are made for videos of up to ${durationOf(appMaxDurationMs)}.`,
    isImage(file) &&
      sizeBytes > maxImageBytes &&
      `Bluesky takes images of up to ${imageLimit}, and ${name} has ${imageSize}: it goes out smaller, as a JPEG, or as a WebP where it has transparency.`,
  );
}

type BlueskySettings = {
  /** Base URL of the app that shows the posts, without a trailing slash. Differs from Bluesky's for another app. */
  readonly webUrl: string;
  /** Larger images are re-encoded. */
  readonly maxImageBytes: number;
  readonly maxVideoBytes: number;
};

const storedSchema = mayHave({
  webUrl: { type: 'string', pattern: '^https?://[^/]' },
  /** The largest file that the account's server accepts, as last read. Servers from before July 2026 do not report it. */
  blobUploadLimit: { type: 'integer', minimum: 1 },
});
export type StoredSettings = Value<typeof storedSchema>;

const read = answerReader(storedSchema);

/** The settings of a channel, by default those of Bluesky's own app and servers. */
export function blueskySettings(settings: Json): BlueskySettings {
  const { webUrl = 'https://bsky.app', blobUploadLimit } = read(settings) ?? {};
  return {
    webUrl,
    // Source: lexicon `app.bsky.embed.images`.
    maxImageBytes: Math.min(2_000_000, blobUploadLimit ?? Infinity),
    maxVideoBytes: blobUploadLimit ?? 100_000_000,
  };
}
