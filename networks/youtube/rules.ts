import type { AttachmentFacts, Content, FaultFacts, Limits, Rules } from '../content-rules.ts';
import {
  commentFaults,
  sentences,
  validateByLimits,
  validateFiles,
} from '../validation/content.ts';
import { durationOf, nameOf } from '../validation/files.ts';
import { asOnePost, isBlank } from '../validation/texts.ts';
import {
  chosenIn,
  maxCommentLength,
  maxTagsLength,
  schema,
  tagsLength,
  thumbnailTypes,
  maxTitleLength,
  titleOf,
  type Title,
} from './metadata.ts';

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

/** Source: https://developers.google.com/youtube/v3/docs/thumbnails/set */
const thumbnailLimits: Pick<Limits, 'name' | 'files'> = {
  name: 'a YouTube thumbnail',
  files: [{ one: 'thumbnail', max: 1, types: thumbnailTypes, maxBytes: 50 * 1024 ** 2 }],
};

/** Limit of unverified channels. Only YouTube knows whether a channel is verified. */
const unverifiedMaxDurationMs = 15 * 60_000;

/**
 * A post is one video; the text is its description. Options take precedence over the post's `video`. The default title
 * is the first line of the text.
 */
export const rules: Rules = {
  threads: false,
  comments: true,
  options: schema,
  // The last bytes leave within 10 s of their intent, and the request times out after 200 s; the rest is for YouTube.
  canUnpublish: true,
  appearsWithinMs: 5 * 60_000,
  // Each read costs one of the project's 10,000 units a day, which publishing needs too.
  metricsEveryMs: 60 * 60_000,
  limits: () => limits,
  validate(content) {
    const post = asOnePost(content);
    const chosen = chosenIn({ ...post.video, ...post.options });
    const { tags = [], first_comment: comment, made_for_kids: isForKids, privacy } = chosen;
    const title = titleOf(post.texts[0] ?? '', chosen.title);
    const {
      errors,
      warnings,
      facts = [],
      ...result
    } = validateByLimits(post, limits, {
      text: (text) => forbiddenFaults(text, 'a description'),
      fileWarnings: lengthWarnings,
    });
    const noComments = sentences(
      isForKids === true && 'YouTube has no comments under a video made for kids.',
      privacy === 'private' && 'YouTube takes no comments under a private video.',
    );
    return {
      ...result,
      errors: [
        ...errors,
        ...titleFaults(title),
        ...sentences(isForKids === undefined && audienceFault),
        ...tagFaults(tags),
        ...(comment ? [...commentFaults('YouTube', comment, maxCommentLength), ...noComments] : []),
        ...thumbnailFaults(content),
      ],
      warnings: [
        ...sentences(
          title?.isDerived === true &&
            `There is no title, so it will be the first line: "${title.text}".`,
        ),
        ...warnings,
        ...thumbnailWarnings(post),
      ],
      facts: [...facts, ...(isForKids === undefined ? [audienceFacts] : [])],
    };
  },
};

const audienceFault =
  'YouTube requires a statement whether the video is made for kids: set the option made_for_kids, or video.made_for_kids, to true or false.';

const audienceFacts: FaultFacts = {
  message: audienceFault,
  rule: 'field_missing',
  limit: null,
  actual: null,
  at: '/video/made_for_kids',
};

function titleFaults(title: Title | null): string[] {
  if (!title) {
    return [
      'YouTube needs a title: give the option title or video.title, or a text whose first line becomes it.',
    ];
  }

  const { length } = title.text;
  return [
    ...sentences(
      length > maxTitleLength &&
        `The title is too long for YouTube: it takes ${maxTitleLength} characters (an emoji counts 2 or more), and this is ${length}.`,
    ),
    // Faults of a title that comes from the text are already reported for the text.
    ...(title.isDerived ? [] : forbiddenFaults(title.text, 'a title')),
  ];
}

function forbiddenFaults(text: string, where: string): string[] {
  const count = text.match(forbidden)?.length ?? 0;
  return sentences(count > 0 && `YouTube takes no < and no > in ${where}, and this has ${count}.`);
}

function tagFaults(tags: readonly string[]): string[] {
  const length = tagsLength(tags);
  return [
    ...sentences(
      length > maxTagsLength &&
        `The tags are too long for YouTube: it takes ${maxTagsLength} characters in all (a comma between two counts 1, a tag with a space 2 more), and this is ${length}.`,
      tags.some(isBlank) && 'YouTube takes no empty tag.',
      tags.some((tag) => tag.includes(',')) && 'A tag for YouTube must not contain a comma.',
    ),
    ...forbiddenFaults(tags.join(' '), 'tags'),
  ];
}

/** A thumbnail that is not in the media library is not checked. Only YouTube knows whether the channel may have one. */
function thumbnailFaults({ optionFiles }: Content): readonly string[] {
  const thumbnail = optionFiles?.['thumbnail'];
  const faults = thumbnail ? validateFiles([thumbnail], thumbnailLimits) : [];
  return faults.map(({ message }) => message);
}

/** Source: https://support.google.com/youtube/answer/15424877 */
const shortMaxDurationMs = 3 * 60_000;

/** YouTube answers 200 to the thumbnail of a Short, and does not show it. */
function thumbnailWarnings({ media, options, optionFiles }: Content): string[] {
  const hasThumbnail = options['thumbnail'] !== undefined || optionFiles?.['thumbnail'];
  const shorts = media
    .flat()
    .filter(
      ({ width, height, durationMs }) =>
        width !== null &&
        height !== null &&
        width <= height &&
        (durationMs ?? Infinity) <= shortMaxDurationMs,
    );
  return hasThumbnail
    ? shorts.map(
        (file) =>
          `YouTube shows no thumbnail of its own for a Short, and ${nameOf(file)} becomes one: it is vertical or square (${file.width} × ${file.height}) and lasts up to ${durationOf(shortMaxDurationMs)}.`,
      )
    : [];
}

const lengthWarnings = (file: AttachmentFacts): string[] =>
  sentences(
    (file.durationMs ?? 0) > unverifiedMaxDurationMs &&
      `${nameOf(file)} lasts ${durationOf(file.durationMs ?? 0)}; YouTube takes more than ${durationOf(unverifiedMaxDurationMs)} only from channels that it has verified.`,
  );
