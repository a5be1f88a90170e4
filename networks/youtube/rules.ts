import type { VideoOptions } from '../../domain/post-view.ts';
import {
  noOptions,
  type Content,
  type MediaFacts,
  type Rules,
  type ValidationResult,
} from '../content-rules.ts';
import { durationOf } from '../validation/amounts.ts';
import { validateByLimits } from '../validation/content.ts';
import { nameOf } from '../validation/files.ts';
import type { Limits } from '../validation/limits.ts';
import { asOnePost, isBlank } from '../validation/texts.ts';

const forbidden = /[<>]/g;

/** Source: https://developers.google.com/youtube/v3/docs/videos (`snippet.title`, `snippet.description`) */
const limits: Limits = {
  name: 'YouTube',
  text: [
    {
      max: 5000,
      unit: 'bytes',
      linkLength: null,
      emoji: null,
      subject: 'a description',
      counting: 'Bytes of UTF-8.',
      measure: (text) => Buffer.byteLength(text),
    },
  ],
  files: [
    {
      one: 'video',
      min: 1,
      max: 1,
      types: ['video/*'],
      maxBytes: 256 * 1024 ** 3,
      maxDurationMs: 12 * 3_600_000,
    },
  ],
  required: ['video.made_for_kids'],
};
/** Of channels that have not been verified; whether one has been, only YouTube knows. */
const unverifiedMaxDurationMs = 15 * 60_000;

/**
 * A post is one video; the text is its description. Without `video.title` the first line of the text is its title.
 * Without `video.privacy` it is public, as a post of any other network is.
 */
export const rules: Rules = {
  threads: false,
  options: noOptions,
  // Until there is an adapter: what proxies give a server for an answer (nginx' default).
  appearsWithinMs: 60_000,
  limits: () => limits,
  validate(content: Content): ValidationResult {
    const post = asOnePost(content);
    const { video } = post;
    const title = titleOf(post.texts[0] ?? '', video);
    const { texts, errors, warnings } = validateByLimits(post, limits, {
      text: (text) => forbiddenFaults(text, 'a description'),
      fileWarnings: lengthWarnings,
    });
    return {
      errors: [
        ...errors,
        ...titleFaults(title),
        ...(video?.made_for_kids === undefined ? [audienceFault] : []),
      ],
      warnings: [...titleWarnings(title), ...warnings],
      texts,
    };
  },
};

const audienceFault =
  'YouTube must be told whether the video is made for kids: set video.made_for_kids to true or false.';

function titleFaults(title: Title | null): string[] {
  if (!title) {
    return ['YouTube needs a title: give video.title, or a text whose first line becomes it.'];
  }

  const { length } = title.text;
  const tooLong = `The title is too long for YouTube: it takes ${maxTitleLength} characters (an emoji counts 2 or more), and this is ${length}.`;
  return [
    ...(length > maxTitleLength ? [tooLong] : []),
    // What is wrong with a title from the text has been said of the text.
    ...(title.isDerived ? [] : forbiddenFaults(title.text, 'a title')),
  ];
}

function forbiddenFaults(text: string, where: string): string[] {
  const count = text.match(forbidden)?.length ?? 0;
  return count > 0 ? [`YouTube takes no < and no > in ${where}, and this has ${count}.`] : [];
}

const titleWarnings = (title: Title | null): string[] =>
  title?.isDerived
    ? [`There is no video.title, so the video's title will be the first line: "${title.text}".`]
    : [];

const lengthWarnings = (file: MediaFacts): string[] =>
  (file.durationMs ?? 0) > unverifiedMaxDurationMs
    ? [
        `${nameOf(file)} lasts ${durationOf(file.durationMs ?? 0)}; YouTube takes more than ${durationOf(unverifiedMaxDurationMs)} only from channels that it has verified.`,
      ]
    : [];

/** In UTF-16 code units, which is how YouTube's own form counts. */
const maxTitleLength = 100;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export type Title = {
  readonly text: string;
  /** Whether it comes from the beginning of the text, because the post has none. */
  readonly isDerived: boolean;
};

/**
 * The title that a video gets: `video.title`, or else the first line of the text, cut to what fits. Null when there
 * is neither: YouTube takes no video without a title.
 */
export function titleOf(text: string, video: VideoOptions | null): Title | null {
  const given = video?.title ?? '';
  if (!isBlank(given)) {
    return { text: given, isDerived: false };
  }

  const [firstLine = ''] = text.trimStart().split(/[\n\r\u2028\u2029]/u, 1);
  return isBlank(firstLine) ? null : { text: shortened(firstLine.trimEnd()), isDerived: true };
}

/** Cuts after a word where one ends in the second half, otherwise after a character, and never through one. */
function shortened(line: string): string {
  if (line.length <= maxTitleLength) {
    return line;
  }

  const room = maxTitleLength - '…'.length;
  const cut = wholeGraphemes(line.slice(0, room + 1), room);
  const lastSpace = cut.search(/\s\S*$/);
  const endsInWord = /\S/.test(line.charAt(cut.length));
  const words = endsInWord && lastSpace >= maxTitleLength / 2 ? cut.slice(0, lastSpace) : cut;
  return `${words.trimEnd()}…`;
}

/** The longest beginning of whole characters; where not even one fits, of whole code points. */
function wholeGraphemes(text: string, maxLength: number): string {
  let end = 0;
  for (const { index, segment } of graphemes.segment(text)) {
    if (index + segment.length > maxLength) {
      break;
    }
    end = index + segment.length;
  }

  return end > 0 ? text.slice(0, end) : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '');
}
