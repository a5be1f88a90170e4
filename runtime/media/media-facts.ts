import type { MediaDetails } from '../../domain/media-details.ts';

/** The facts about a file, except its type. */
export type PictureFacts = {
  /** In pixels, as displayed. */
  readonly width: number | null;
  readonly height: number | null;
  /** Null for a still image. */
  readonly durationMs: number | null;
  readonly details: MediaDetails;
};

export type MediaFacts = PictureFacts & { readonly type: string };

/** The reason for the refusal of a file, in a sentence for its owner. */
export type FileRefusal = { readonly refusal: string };
