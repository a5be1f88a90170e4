import type { Content, MediaFacts, Rules, ValidationResult } from '../content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';
import { numberOf } from '../validation/amounts.ts';
import { validateByLimits } from '../validation/content.ts';
import { isAnimatedWebp, nameOf } from '../validation/files.ts';
import type { Limits, TextLimit } from '../validation/limits.ts';
import { choiceOf, choiceWarnings, optionsSchema } from './options.ts';
import { mastodonSettings, type MastodonSettings } from './settings.ts';
import { countCharacters, statusLength } from './status-length.ts';

/** Of Mastodon itself, for GIFs alone; no server tells it. */
const maxGifPixels = 1280 * 720;

/** Types that go by another name here, where a file's type is read from its bytes. */
const ourNames: Readonly<Record<string, string>> = {
  'video/x-matroska': 'video/matroska',
  'video/x-msvideo': 'video/vnd.avi',
};

/** The limits are those that the account's server told last (`worker/keep-limits.ts`), or else Mastodon's own. */
export const rules: Rules = {
  threads: true,
  options: optionsSchema,
  // No rule bounds how long a server works on a request whose client is gone. 60 s is what proxies give it
  // (nginx' default for an answer); a status takes a second even on a busy one.
  appearsWithinMs: 60_000,
  limits: (settings: Json): Limits => limitsOf(mastodonSettings(settings)),
  validate(content: Content, settings: Json): ValidationResult {
    const { spoilerText = '' } = choiceOf(content.options);
    const limits = limitsOf(mastodonSettings(settings), spoilerText);
    const result = validateByLimits(content, limits, { fileWarnings: imageWarnings });
    return { ...result, warnings: [...result.warnings, ...choiceWarnings(content)] };
  },
};

/**
 * No server counts bytes, and a character may have any number of accents. A family of four with a colour of skin each has
 * 41 bytes, and no character that means something has more.
 */
const maxBytesPerCharacter = 50;

/** @param warning A content warning, which counts as if it stood in the text. */
const limitsOf = (server: MastodonSettings, warning = ''): Limits => ({
  name: 'this Mastodon server',
  text: [
    {
      max: server.maxCharacters,
      unit: 'characters',
      ...measuredBy(countCharacters, server, warning),
      counting:
        'Grapheme clusters: characters as people see them. Of a mention only what stands before the second @ counts. A content warning counts too.',
    },
    {
      max: server.maxCharacters * maxBytesPerCharacter,
      unit: 'bytes',
      ...measuredBy(Buffer.byteLength, server, warning),
      counting: 'Bytes of UTF-8, of what counts as characters.',
    },
  ],
  files: filesOf(server),
});

type Count = (text: string) => number;

const measuredBy = (
  count: Count,
  { charactersReservedPerUrl: linkLength }: MastodonSettings,
  warning: string,
): Pick<TextLimit, 'linkLength' | 'emoji' | 'beside' | 'measure'> => ({
  linkLength,
  emoji: null,
  ...(warning !== '' && { beside: `spoiler_text has ${count(warning)}` }),
  measure: (text) => statusLength(text, linkLength, count) + count(warning),
});

function filesOf(server: MastodonSettings): Limits['files'] {
  const types = server.mediaTypes.map((type) => ourNames[type] ?? type);
  const most = server.maxMediaAttachments;
  return [
    {
      one: 'image',
      max: most,
      types: types.filter((type) => type.startsWith('image/')),
      maxBytes: server.maxImageBytes,
      maxPixels: server.maxImagePixels,
      maxAltText: server.maxDescription,
      altTextUnit: 'code points',
    },
    {
      one: 'video',
      max: Math.min(1, most),
      types: types.filter((type) => type.startsWith('video/')),
      maxBytes: server.maxVideoBytes,
      maxPixels: server.maxVideoPixels,
      maxFrameRate: server.maxVideoFrameRate,
      maxAltText: server.maxDescription,
      altTextUnit: 'code points',
    },
  ];
}

function imageWarnings(file: MediaFacts): string[] {
  if (isAnimatedWebp(file)) {
    return [
      `Mastodon shows an animated WebP as a still image, and ${nameOf(file)} is one. A GIF moves.`,
    ];
  }

  const { type, width, height } = file;
  const pixels = (width ?? 0) * (height ?? 0);
  return type === 'image/gif' && pixels > maxGifPixels
    ? [
        `Many Mastodon servers take GIFs of up to ${numberOf(maxGifPixels)} pixels only, and ${nameOf(file)} has ${numberOf(pixels)} (${width} × ${height}).`,
      ]
    : [];
}
