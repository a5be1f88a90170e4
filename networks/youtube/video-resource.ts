import { createHash } from 'node:crypto';
import type { youtube_v3 } from '@googleapis/youtube';
import { NetworkError, type Part } from '../network.ts';
import { choiceOf, maxTagsLength, tagsLength } from './options.ts';
import { titleOf } from './title.ts';

/**
 * Marks the video of a part, so that it is known again whatever became of its upload: a tag, as videos keep no other
 * mark of the one who uploads them.
 */
export const markOf = ({ key }: Part): string =>
  `punctual-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;

/**
 * What YouTube is told of a video: its privacy always, as YouTube would have a default of its own, and the mark of the
 * part where the owner's tags leave room for it.
 *
 * @throws NetworkError `content_refused` for a video without a title, which the rules let nobody schedule.
 */
export function videoResource(part: Part): VideoResource {
  const { privacy, madeForKids, tags, category, isSynthetic, ...choice } = choiceOf(part.options);
  const { text } = part;
  const title = titleOf(text, choice);
  if (!title) {
    throw new NetworkError('content_refused', 'A video on YouTube needs a title.', { taken: 'no' });
  }

  const marked = [...tags, markOf(part)];
  return {
    snippet: {
      title: title.text,
      description: text,
      tags: tagsLength(marked) <= maxTagsLength ? marked : [...tags],
      ...(category !== undefined && { categoryId: category }),
    },
    status: {
      privacyStatus: privacy,
      ...(madeForKids !== undefined && { selfDeclaredMadeForKids: madeForKids }),
      ...(isSynthetic !== undefined && { containsSyntheticMedia: isSynthetic }),
    },
  };
}

export type VideoResource = {
  readonly snippet: Snippet;
  readonly status: youtube_v3.Schema$VideoStatus;
};

type Snippet = youtube_v3.Schema$VideoSnippet & {
  readonly title: string;
  readonly description: string;
  readonly tags: string[];
};
