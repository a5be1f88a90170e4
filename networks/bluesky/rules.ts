import type { Content, MediaFacts, Rules, Verdict } from '../content-rules.ts';
import { durationOf } from '../judge/amounts.ts';
import { judgeFiles, nameOf } from '../judge/files.ts';
import { countGraphemes } from '../judge/graphemes.ts';
import { hasType, isImage, isVideo, mixtureFaults } from '../judge/mixture.ts';
import { judgeTexts, type TextVerdict } from '../judge/texts.ts';
import type { Json } from '../network.ts';
import { blueskySettings } from './settings.ts';

/** Both count: a text of emoji families reaches the bytes first. Source: lexicon `app.bsky.feed.post`. */
const maxGraphemes = 300;
const maxBytes = 3000;

/** Source: lexicon `app.bsky.embed.images`, which takes images of all types. */
const image = { kind: 'an image', maxBytes: 2_000_000 };
/** What Bluesky's apps take; the servers do not look. */
const appMaxDurationMs = 3 * 60_000;

const groups = [
  { one: 'image', max: 4, has: isImage },
  { one: 'video', max: 1, has: isVideo },
];

export const rules: Rules = {
  threads: true,
  judge(content: Content, settings: Json): Verdict {
    const { media } = content;
    const { texts, errors } = judgeTexts(content, 'Bluesky', judgeText);
    const mixture = mixtureFaults(media, groups, 'Bluesky');
    const video = { kind: 'a video', maxBytes: blueskySettings(settings).maxVideoBytes };
    const files = judgeFiles(media, { 'image/*': image, 'video/mp4': video }, 'Bluesky');
    return {
      errors: [...errors, ...mixture, ...files.errors],
      warnings: [...files.warnings, ...media.flatMap(showsOtherwise)],
      texts,
    };
  },
};

function judgeText(text: string): TextVerdict {
  const graphemes = { length: countGraphemes(text), limit: maxGraphemes, unit: 'graphemes' };
  const bytes = { length: Buffer.byteLength(text), limit: maxBytes, unit: 'bytes' };
  const words = [
    [graphemes, 'characters'],
    [bytes, 'bytes of UTF-8'],
  ] as const;
  return {
    // The one that is nearer to its limit is the one to keep an eye on.
    measure: bytes.length / maxBytes > graphemes.length / maxGraphemes ? bytes : graphemes,
    errors: words.flatMap(([{ length, limit }, unit]) =>
      length > limit
        ? [`The text is too long for Bluesky: it takes ${limit} ${unit}, and this is ${length}.`]
        : [],
    ),
  };
}

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
