import { createHash } from 'node:crypto';
import type { youtube_v3 } from '@googleapis/youtube';
import { anyFields, having, listOf, oneOf, text } from '../../domain/json-schema.ts';
import { wholeCharacters } from '../../domain/texts.ts';
import { answerReader } from '../answer.ts';
import { defineOptions } from '../content-rules.ts';
import { NetworkError, type ThreadPart, type PreparedPart } from '../network.ts';
import { isBlank } from '../validation/texts.ts';

/** In UTF-16 code units, as in YouTube's own form. */
export const maxTitleLength = 100;

/** In UTF-16 code units, the strictest reading of "characters". */
export const maxCommentLength = 10_000;

export const maxTagsLength = 500;

export const thumbnailTypes = ['image/jpeg', 'image/png'];

/** Sources: https://developers.google.com/youtube/v3/docs/videos, https://developers.google.com/youtube/v3/docs/commentThreads */
export const { schema, chosenIn } = defineOptions({
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
    maxLength: maxCommentLength,
    description:
      'Written under the video by its own channel after publication. An empty text leaves out the default.',
  },
});

/**
 * The length of tags as YouTube counts it: with commas between them, and quotation marks around each tag that contains
 * a space.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos (`snippet.tags[]`)
 */
export const tagsLength = (tags: readonly string[]): number =>
  tags.reduce((sum, tag) => sum + tag.length + (/\s/u.test(tag) ? 2 : 0), 0) +
  Math.max(0, tags.length - 1);

export type Title = {
  readonly text: string;
  /** Whether it is the beginning of the text, because the post has no title. */
  readonly isDerived: boolean;
};

/**
 * The title of a video: the given one, otherwise the first line of the text, shortened to fit. Null when there is
 * neither; YouTube requires a title.
 */
export function titleOf(postText: string, given = ''): Title | null {
  if (!isBlank(given)) {
    return { text: given, isDerived: false };
  }

  const [firstLine = ''] = postText.trimStart().split(/[\n\r\u2028\u2029]/u, 1);
  return isBlank(firstLine) ? null : { text: shortened(firstLine.trimEnd()), isDerived: true };
}

/** Cuts after a word that ends in the second half, otherwise after a character, never inside one. */
function shortened(line: string): string {
  if (line.length <= maxTitleLength) {
    return line;
  }

  const room = maxTitleLength - '…'.length;
  // If not even one character fits, cut after a code point.
  const cut = wholeCharacters(line, room) || line.slice(0, room).replace(/[\uD800-\uDBFF]$/, '');
  const lastSpace = cut.search(/\s\S*$/);
  const endsInWord = /\S/.test(line.charAt(cut.length));
  const words = endsInWord && lastSpace >= maxTitleLength / 2 ? cut.slice(0, lastSpace) : cut;
  return `${words.trimEnd()}…`;
}

type Snippet = youtube_v3.Schema$VideoSnippet & {
  readonly title: string;
  readonly description: string;
  readonly tags: string[];
};

type VideoResource = {
  readonly snippet: Snippet;
  readonly status: youtube_v3.Schema$VideoStatus;
};

/** Marks a part's video with a tag, by which a reconcile finds it. Videos have no other field for a mark. */
export const markOf = ({ key }: ThreadPart): string =>
  `punctual-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;

/** The metadata of a video, with the part's mark if the owner's tags leave room for it. */
export function videoResource(part: ThreadPart): VideoResource {
  const chosen = chosenIn(part.options);
  const { privacy = 'public', made_for_kids: isForKids, tags = [], category } = chosen;
  const { synthetic_media: isSynthetic } = chosen;
  const title = titleOf(part.text, chosen.title);
  if (!title) {
    throw new NetworkError('content_refused', 'A video on YouTube needs a title.', {
      accepted: 'no',
    });
  }

  const marked = [...tags, markOf(part)];
  return {
    snippet: {
      title: title.text,
      description: part.text,
      tags: tagsLength(marked) <= maxTagsLength ? marked : [...tags],
      ...(category !== undefined && { categoryId: category }),
    },
    status: {
      // Always sent, because YouTube has a default of its own. Public, as for posts of any other network.
      privacyStatus: privacy,
      ...(isForKids !== undefined && { selfDeclaredMadeForKids: isForKids }),
      ...(isSynthetic !== undefined && { containsSyntheticMedia: isSynthetic }),
    },
  };
}

export type Prepared = {
  readonly kind: 'video' | 'comment';
  /** When it was prepared, in milliseconds since 1970. Older uploads are not this part's. */
  readonly sinceMs: number;
  /**
   * The video's metadata, the same in every attempt: a reconcile must recognise the video even if the channel's options
   * change in between. Absent for a comment.
   */
  readonly video?: VideoResource;
};

export const readPrepared = answerReader<Prepared>(
  having(
    { kind: oneOf(['video', 'comment']), sinceMs: { type: 'integer' } },
    {
      video: having({
        snippet: having({ title: text, description: text, tags: listOf(text) }),
        status: anyFields,
      }),
    },
  ),
);

export const videoOf = (part: PreparedPart): VideoResource =>
  readPrepared(part.data)?.video ?? videoResource(part);
