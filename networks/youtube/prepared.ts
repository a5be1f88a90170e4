import { answerReader } from '../answer.ts';
import type { PreparedPart } from '../network.ts';
import { videoResource, type VideoResource } from './video-resource.ts';

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

/** The metadata of a part's video. */
export const videoOf = (part: PreparedPart): VideoResource =>
  readPrepared(part.data)?.video ?? videoResource(part);
