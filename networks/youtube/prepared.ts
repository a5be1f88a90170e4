import { answerReader } from '../answer.ts';
import type { PreparedPart } from '../network.ts';
import { videoResource, type VideoResource } from './video-resource.ts';

export type Prepared = {
  readonly kind: 'video' | 'comment';
  /** When it was prepared, in milliseconds since 1970: what was uploaded before is another's. */
  readonly sinceMs: number;
  /**
   * What YouTube is told of the video, on every try: an option of the channel that changes in between must not keep a
   * look from knowing the video again. Absent of a comment.
   */
  readonly video?: VideoResource;
};

export const readPrepared = answerReader<Prepared>({
  type: 'object',
  required: ['kind', 'sinceMs'],
  properties: {
    kind: { type: 'string', enum: ['video', 'comment'] },
    sinceMs: { type: 'integer' },
    video: {
      type: 'object',
      required: ['snippet', 'status'],
      properties: {
        snippet: {
          type: 'object',
          required: ['title', 'description', 'tags'],
          properties: {
            title: { type: 'string' },
            description: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
          },
        },
        status: { type: 'object' },
      },
    },
  },
});

/** What YouTube is told of a part's video. */
export const videoOf = (part: PreparedPart): VideoResource =>
  readPrepared(part.data)?.video ?? videoResource(part);
