import type { VideoOptions } from '../../domain/post-view.ts';
import type { Options, OptionsSchema } from '../content-rules.ts';
import { isBlank } from '../validation/texts.ts';
import { maxTitleLength } from './title.ts';

/** In UTF-16 code units, the strictest reading of "characters". */
export const maxCommentLength = 10_000;
export const maxTagsLength = 500;
export const thumbnailTypes = ['image/jpeg', 'image/png'];

/** Sources: https://developers.google.com/youtube/v3/docs/videos, https://developers.google.com/youtube/v3/docs/commentThreads */
export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    title: {
      type: 'string',
      maxLength: maxTitleLength,
      description: 'The title of the video. Default: the first line of the text.',
    },
    privacy: {
      type: 'string',
      enum: ['public', 'unlisted', 'private'],
      description: 'Who may see the video. Default: `public`.',
    },
    made_for_kids: {
      type: 'boolean',
      description: 'Whether the video is made for kids. Required by YouTube, here or in `video`.',
    },
    tags: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 500 },
      maxItems: 250,
      description:
        'Words to find the video by: 500 characters in all, counting the commas between them and two more for each tag that contains a space.',
    },
    category: {
      type: 'string',
      pattern: '^[1-9][0-9]{0,2}$',
      description: "YouTube's number of the category, such as `22` (People & Blogs).",
    },
    thumbnail: {
      type: 'string',
      format: 'uuid',
      description:
        'A picture of the media library, JPEG or PNG of up to 50 MiB, which is shown before the video plays.',
    },
    synthetic_media: {
      type: 'boolean',
      description: 'Whether the video has altered or synthetic content that looks real.',
    },
    first_comment: {
      type: 'string',
      minLength: 1,
      maxLength: maxCommentLength,
      description: 'Written under the video by its own channel after publication.',
    },
  },
};

export type Privacy = NonNullable<VideoOptions['privacy']>;

/** The options of a video. Absent ones are left to us or to YouTube. */
export type Choice = {
  readonly title?: string;
  readonly privacy: Privacy;
  readonly madeForKids?: boolean;
  readonly tags: readonly string[];
  readonly category?: string;
  readonly isSynthetic?: boolean;
  readonly firstComment?: string;
};

/**
 * Reads the options of a channel, over the post's own `video`. A value that does not fit the schema is ignored.
 *
 * The default of `privacy` is public, as for posts of any other network; it is always sent to YouTube.
 */
export function choiceOf(options: Options, video: VideoOptions | null = null): Choice {
  const given: Options = { ...video, ...options };
  const title = textOf(given['title']);
  const madeForKids = flagOf(given['made_for_kids']);
  const category = textOf(given['category']);
  const isSynthetic = flagOf(given['synthetic_media']);
  const firstComment = textOf(given['first_comment']);
  const { tags, privacy } = given;
  return {
    privacy: privacy === 'unlisted' || privacy === 'private' ? privacy : 'public',
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    ...(title !== undefined && !isBlank(title) && { title }),
    ...(madeForKids !== undefined && { madeForKids }),
    ...(category !== undefined && { category }),
    ...(isSynthetic !== undefined && { isSynthetic }),
    ...(firstComment !== undefined && { firstComment }),
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

const flagOf = (value: unknown): boolean | undefined =>
  typeof value === 'boolean' ? value : undefined;

/**
 * The length of tags as YouTube counts it: with commas between them, and quotation marks around each tag that contains
 * a space.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos (`snippet.tags[]`)
 */
export const tagsLength = (tags: readonly string[]): number =>
  tags.reduce((sum, tag) => sum + tag.length + (/\s/u.test(tag) ? 2 : 0), 0) +
  Math.max(0, tags.length - 1);
