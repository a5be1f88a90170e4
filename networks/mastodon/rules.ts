import {
  defineOptions,
  type AttachmentFacts,
  type Content,
  type Limits,
  type Rules,
  type TextLimit,
} from '../content-rules.ts';
import { numberOf, animatedFormat, nameOf } from '../validation/files.ts';
import { sentences, validateByLimits } from '../validation/content.ts';
import { isBlank } from '../validation/texts.ts';
import { mastodonSettings, type MastodonSettings } from './settings.ts';
import { countCharacters, statusLength } from './status-length.ts';

/** Mastodon's limit for GIFs, which servers do not report. Since 4.3 an animated PNG is one to Mastodon. */
const maxGifPixels = 1280 * 720;

/** Our names of types that servers name differently. Our types are read from a file's bytes. */
const ourNames: Readonly<Record<string, string>> = {
  'video/x-matroska': 'video/matroska',
  'video/x-msvideo': 'video/vnd.avi',
};

/** Source: https://docs.joinmastodon.org/methods/statuses/#create */
const { schema, chosenIn } = defineOptions({
  visibility: {
    type: 'string',
    enum: ['public', 'unlisted', 'private', 'direct'],
    description:
      'Who sees the post: everybody, everybody except public timelines (`unlisted`), followers (`private`), or only the accounts that it mentions (`direct`). Default: `public`.',
  },
  spoiler_text: {
    type: 'string',
    minLength: 1,
    maxLength: 5000,
    description:
      'A content warning: each text of the post is hidden behind it. Counts towards the length of the text.',
  },
  sensitive: {
    type: 'boolean',
    description:
      "Whether images and videos are hidden at first. Default: the account's own setting; on Mastodon always true with a content warning.",
  },
  language: {
    type: 'string',
    pattern: '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$',
    maxLength: 20,
    examples: ['en', 'pt-BR'],
    description:
      "The language of the text, as an ISO 639 code such as `en`. Default: the account's own setting.",
  },
});

export { chosenIn };

/** Uses the limits that the account's server reported last (`worker/keep-limits.ts`), otherwise Mastodon's own. */
export const rules: Rules = {
  threads: true,
  options: schema,
  // Nothing bounds how long a server works on a request after its client disconnected. Proxies wait 60 s (nginx'
  // default); creating a status takes a second even on a busy server.
  canUnpublish: true,
  appearsWithinMs: 60_000,
  limits: (settings) => limitsOf(mastodonSettings(settings)),
  validate(content, settings) {
    const limits = limitsOf(mastodonSettings(settings), warningIn(content));
    const result = validateByLimits(content, limits, { fileWarnings: imageWarnings });
    return { ...result, warnings: [...result.warnings, ...choiceWarnings(content)] };
  },
};

/**
 * Servers do not limit bytes, and a character may have any number of combining marks. The longest meaningful character,
 * a family of four with a skin colour each, has 41 bytes.
 */
const maxBytesPerCharacter = 50;

/** @param warning A content warning, which counts towards the length of the text. */
const limitsOf = (server: MastodonSettings, warning = ''): Limits => ({
  name: 'this Mastodon server',
  text: [
    {
      max: server.maxCharacters,
      unit: 'characters',
      ...measuredBy(countCharacters, server, warning),
      counting:
        'Grapheme clusters: characters as people see them. Of a mention, only the part before the second @ counts. A content warning counts too.',
    },
    {
      max: server.maxCharacters * maxBytesPerCharacter,
      unit: 'bytes',
      ...measuredBy(Buffer.byteLength, server, warning),
      counting: 'Bytes of UTF-8, of the counted characters.',
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

function imageWarnings(file: AttachmentFacts): string[] {
  const { type, width, height } = file;
  const name = nameOf(file);
  const animated = animatedFormat(file);
  const pixels = (width ?? 0) * (height ?? 0);
  const isGif = type === 'image/gif';
  return sentences(
    animated === 'WebP' &&
      `Mastodon shows an animated WebP as a still image, and ${name} is one. Use a GIF for an animation.`,
    (isGif || animated === 'PNG') &&
      pixels > maxGifPixels &&
      `Many Mastodon servers take ${isGif ? 'GIFs' : 'animated PNGs'} of up to ${numberOf(maxGifPixels)} pixels only, and ${name} has ${numberOf(pixels)} (${width} × ${height}).`,
  );
}

export function warningIn({ options }: Pick<Content, 'options'>): string {
  const { spoiler_text: warning = '' } = chosenIn(options);
  return isBlank(warning) ? '' : warning;
}

function choiceWarnings(content: Content): string[] {
  const { visibility } = chosenIn(content.options);
  const shown = content.texts.length === 0 ? [''] : content.texts;
  return sentences(
    visibility === 'direct' &&
      shown.some((text) => !/(?<!\w)@\w/v.test(text)) &&
      'A direct post is seen only by the accounts that it mentions, and one of its texts mentions no account.',
    // Source: Mastodon's `PostStatusService`.
    warningIn(content) !== '' &&
      shown.some(isBlank) &&
      'Without a text, Mastodon shows the content warning as the text, and hides nothing behind it.',
  );
}
