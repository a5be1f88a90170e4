import { createHash } from 'node:crypto';
import type { youtube_v3 } from '@googleapis/youtube';
import { NetworkError, type ThreadPart } from '../network.ts';
import { choiceOf, maxTagsLength, tagsLength } from './options.ts';
import { titleOf } from './title.ts';

/** Marks a part's video with a tag, by which a reconcile finds it. Videos have no other field for a mark. */
export const markOf = ({ key }: ThreadPart): string =>
  `punctual-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;

/**
 * The metadata of a video: always its privacy, because YouTube has a default of its own, and the part's mark if the
 * owner's tags leave room for it.
 *
 * @throws NetworkError `content_refused` for a video without a title; the rules should have refused it.
 */
export function videoResource(part: ThreadPart): VideoResource {
  const { privacy, madeForKids, tags, category, isSynthetic, ...choice } = choiceOf(part.options);
  const { text } = part;
  const title = titleOf(text, choice);
  if (!title) {
    throw new NetworkError('content_refused', 'A video on YouTube needs a title.', {
      accepted: 'no',
    });
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
